/* Addition that stops at the largest or smallest 64-bit integer. A program may name any number of bytes in a call, of
 * which MPI moves none where the peer is MPI_PROC_NULL or a communicator has one member; the sum of such bytes is shown
 * as the largest integer. */
#ifndef MPISTAIR_BASE_SATURATING_H
#define MPISTAIR_BASE_SATURATING_H

#include <stdint.h>

/* Returns a + b, or the largest or smallest integer where that is out of range. */
static inline int64_t saturating_add(int64_t a, int64_t b)
{
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : a < 0 ? INT64_MIN : INT64_MAX;
}

#endif

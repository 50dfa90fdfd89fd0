/* Adds up what may be more than 64 bits hold: a program may name any number of bytes in a call, of which MPI moves none
 * where the peer is MPI_PROC_NULL or a communicator has one member. Such a sum is shown as the largest integer, which
 * costs the reader nothing else. */
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

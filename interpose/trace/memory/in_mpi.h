/* How long a rank has been inside MPI calls, up to a moment. */
#ifndef MPISTAIR_TRACE_IN_MPI_H
#define MPISTAIR_TRACE_IN_MPI_H

#include <stddef.h>
#include <stdint.h>

/* Calls of a rank as disjoint intervals; starts as zeroes. */
struct busy {
    struct busy_interval *intervals; /* [n] from first on, in the order of time */
    size_t first;
    size_t n;
    size_t capacity;
};

/* Adds a call; calls come in the order of their begins. 0, or -1 without memory. */
int busy_add(struct busy *busy, int64_t begin_ns, int64_t end_ns);
/* Time inside MPI before a moment, not earlier than what was forgotten. */
int64_t busy_before(const struct busy *busy, int64_t at_ns);
/* Nobody will ask about a time before this one. */
void busy_forget(struct busy *busy, int64_t before_ns);
void busy_release(struct busy *busy);

#endif

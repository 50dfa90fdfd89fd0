/* Tells how long a rank has been inside MPI calls, up to a moment. */
#ifndef MPISTAIR_TRACE_IN_MPI_H
#define MPISTAIR_TRACE_IN_MPI_H

#include <stddef.h>
#include <stdint.h>

/* Holds the calls of a rank as disjoint intervals; starts as zeroes. */
struct busy {
    struct busy_interval *intervals; /* [n] from first on, in the order of time */
    size_t first;
    size_t n;
    size_t capacity;
};

/* Adds a call; calls come in the order of their begins. */
void busy_add(struct busy *busy, int64_t begin_ns, int64_t end_ns);
/* Returns the time inside MPI before a moment, in ns. The moment must not be earlier than what was forgotten. */
int64_t busy_before(const struct busy *busy, int64_t at_ns);
/* Forgets what lies before a time about which nobody will ask any more. */
void busy_forget(struct busy *busy, int64_t before_ns);
void busy_release(struct busy *busy);

#endif

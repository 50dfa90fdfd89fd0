/* Tells how long a rank has been inside MPI calls, up to a moment. */
#ifndef MPISTAIR_TRACE_IN_MPI_H
#define MPISTAIR_TRACE_IN_MPI_H

#include <stddef.h>
#include <stdint.h>

/* The calls of a rank as disjoint intervals; starts as zeroes. */
struct time_in_mpi {
    struct mpi_interval *intervals; /* [n] from first on, in the order of time */
    size_t first;
    size_t n;
    size_t capacity;
};

/* Adds a call; calls come in the order of their begins. */
void time_in_mpi_add(struct time_in_mpi *time, int64_t begin_ns, int64_t end_ns);
/* Returns the time inside MPI before a moment, in ns. The moment must not be earlier than what was forgotten. */
int64_t time_in_mpi_before(const struct time_in_mpi *time, int64_t at_ns);
/* Discards everything before a time; later queries must not go back further. */
void time_in_mpi_forget(struct time_in_mpi *time, int64_t before_ns);
void time_in_mpi_release(struct time_in_mpi *time);

#endif

/* How much of a rank's time in a round it spent inside MPI calls. */
#ifndef MPISTAIR_TRACE_IN_MPI_H
#define MPISTAIR_TRACE_IN_MPI_H

#include "trace.h"

/* Sets in_mpi_ns of all round_processes, the union of the rank's calls within the row's begin and end, and sorts the
 * rows by round, then rank. 0, or -1 without memory. */
int in_mpi_measure(struct trace *trace);

#endif

/* Moves bytes both ways between two ranks at once, by an interface, for the benchmark fine. */
#ifndef MPISTAIR_CALIBRATE_FINE_BOTH_H
#define MPISTAIR_CALIBRATE_FINE_BOTH_H

#include <mpi.h>

#include "calibrate/measure/measure.h"

/* Holds most messages of a repetition. */
enum { FINE_BOTH_COUNT_MAX = 32 };

/* Each rank of the pair moves task->bytes to the other one as task->count messages, puts into window (window_bytes at
 * each rank), or partitioned requests of one partition each. Sources are at another place each time, and as far as the
 * window is large enough targets are, so that no cache has them. All return the seconds of one repetition until the own
 * messages are through, at the other rank for puts; 0 where the MPI has no partitioned messages. */
double fine_both_p2p(struct measure *measure, const struct task *task);
double fine_both_rma(struct measure *measure, const struct task *task, MPI_Win window, size_t window_bytes);
double fine_both_partitioned(struct measure *measure, const struct task *task);

#endif

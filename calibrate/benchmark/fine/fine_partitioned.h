/* Exchanges partitioned messages for the benchmark fine. */
#ifndef MPISTAIR_CALIBRATE_FINE_PARTITIONED_H
#define MPISTAIR_CALIBRATE_FINE_PARTITIONED_H

#include "calibrate/measure/measure.h"

enum { FINE_GO_TAG = 1, FINE_DATA_TAG = 2 };

/* Is 1 where the MPI has partitioned messages that work; Open MPI 5.0, an MPI 3.1, has them half. */
#define FINE_HAS_PARTITIONED (MPI_VERSION >= 4)

/* Wait for the partner's word to go on, and give it. */
void fine_await(const struct measure *measure, const struct task *task);
void fine_tell(const struct measure *measure, const struct task *task);

/* Is how long fine_early() waits for the first partition. */
#define FINE_EARLY_S 20e-3

/* Moves task->bytes at data as task->count partitions. Returns the seconds of one repetition on the receiver, from its
 * word to the end, and 0 on the sender; 0 on both where the MPI has no partitioned messages. */
double fine_partitioned(struct measure *measure, const struct task *task, char *data);
/* Makes the first of the partitions ready, and the others only when the receiver has it, or FINE_EARLY_S later. Returns
 * the seconds until the receiver has the first one, FINE_EARLY_S or more where it has to wait for the others; 0 as
 * above. */
double fine_early(struct measure *measure, const struct task *task, char *data);

#endif

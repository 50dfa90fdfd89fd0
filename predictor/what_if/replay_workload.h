/* Reads the rounds of a trace as a workload. */
#ifndef MPISTAIR_PREDICTOR_REPLAY_WORKLOAD_H
#define MPISTAIR_PREDICTOR_REPLAY_WORKLOAD_H

#include <sqlite3.h>

#include "predictor/what_if/workload.h"

/* Reads the rounds on which predict runs the models: the first of every kind, or, with post_times, those that
 * replay_mean.h takes, so that the same comes out. placement has the ranks of the world. The caller releases the
 * workload. Returns 0, or -1 with the reason. */
int replay_workload(sqlite3 *database, const char *path, const struct placement *placement, bool post_times,
                    struct workload *workload, struct error *error);

#endif

/* The rounds of a trace as a workload, and the names of its nodes. */
#ifndef MPISTAIR_PREDICTOR_REPLAY_WORKLOAD_H
#define MPISTAIR_PREDICTOR_REPLAY_WORKLOAD_H

#include <sqlite3.h>

#include "rank_file.h"
#include "workload.h"

/* Every kind as its first round was. n_ranks: of the world. The caller releases it. 0, or -1 with the reason. */
int replay_workload(sqlite3 *database, const char *path, size_t n_ranks, struct workload *workload,
                    struct error *error);
/* The same for hosts. */
int replay_hosts(sqlite3 *database, const char *path, struct hosts *hosts, struct error *error);

#endif

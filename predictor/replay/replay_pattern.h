/* Extracts a recorded round as a pattern and a placement of its own. */
#ifndef MPISTAIR_PREDICTOR_REPLAY_PATTERN_H
#define MPISTAIR_PREDICTOR_REPLAY_PATTERN_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "predictor/pattern/pattern.h"

/* Reads the first round of a kind (kind_given; else of the trace's only one), the messages of a sender in the order
 * of their posts; placement has all ranks of the run. Returns 0, or -1 with the reason and nothing to release. */
int replay_pattern(sqlite3 *database, const char *path, bool kind_given, int64_t kind, struct pattern *pattern,
                   struct placement *placement, struct error *error);

#endif

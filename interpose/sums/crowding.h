/* Counts nodes with more ranks at one time than processors that these may use: one that was spawned after another ended
 * takes its place. Containers that share processors are one node. */
#ifndef MPISTAIR_SUMS_CROWDING_H
#define MPISTAIR_SUMS_CROWDING_H

#include <sqlite3.h>
#include <stdint.h>

#include "share/base/error.h"

struct crowding {
    int64_t nodes;             /* 0: there is none, and the rest is 0 */
    int64_t ranks, processors; /* of the fullest, most ranks at one time */
};

/* Returns 0, or -1 with the reason, which names the trace by path. */
int crowding_find(sqlite3 *database, const char *path, struct crowding *crowding, struct error *error);

#endif

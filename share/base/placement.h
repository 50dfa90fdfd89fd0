/* Where the ranks of a job run, as text (L.csv) and in memory.
 *
 * L.csv has the header `rank,node,socket` and the optional columns `numa,l3` (only the calibration asks for them; empty
 * or `-` means not known). It names each rank once, ranks 0 .. n-1 in any order. */
#ifndef MPISTAIR_BASE_PLACEMENT_H
#define MPISTAIR_BASE_PLACEMENT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/error.h"
#include "share/base/level.h"

/* Value of numa and l3: the rank has no such object, or it is unknown which. */
#define PLACEMENT_UNKNOWN UINT32_MAX

struct placement {
    size_t n_ranks;
    uint32_t *node;   /* [n_ranks] */
    uint32_t *socket; /* [n_ranks] within its node */
    uint32_t *numa;   /* [n_ranks] NUMA node within its node, or PLACEMENT_UNKNOWN */
    uint32_t *l3;     /* [n_ranks] L3 cache within its node, or PLACEMENT_UNKNOWN */
};

/* Puts n_ranks ranks on socket 0 of node 0, numa and l3 unknown. */
void placement_init(struct placement *placement, size_t n_ranks);
/* Reads a file. Returns 0, or -1 with file, line and what was expected in error, and the output untouched. */
int placement_read_csv(const char *path, struct placement *placement, struct error *error);
/* Writes node and socket of each rank in that form. */
void placement_write_csv(FILE *stream, const struct placement *placement);
void placement_release(struct placement *placement);

/* Returns the level of a message from src to dst. */
enum level placement_level(const struct placement *placement, uint32_t src, uint32_t dst);

#endif

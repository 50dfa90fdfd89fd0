/* Puts ranks that exchange many bytes close together, by the partitioner Scotch. */
#ifndef MPISTAIR_PREDICTOR_PLACEMENT_MAP_H
#define MPISTAIR_PREDICTOR_PLACEMENT_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/error.h"
#include "share/base/placement.h"

/* Returns whether mpistair was built with Scotch. */
bool placement_map_is_built(void);

/* Bytes that two ranks exchange; a pair may come several times, in both orders. */
struct rank_bytes {
    uint32_t a, b;
    double bytes;
};

/* Fills mapped, a placement of slots->n_ranks from placement_init, with the places of slots, each as often as there.
 * Returns 0, or -1 with the reason. */
int placement_map(const struct rank_bytes *pairs, size_t n_pairs, const struct placement *slots, uint64_t seed,
                  struct placement *mapped, struct error *error);

#endif

/* Puts ranks that exchange many bytes close together, by the partitioner Scotch. */
#ifndef MPISTAIR_PREDICTOR_PLACEMENT_MAP_H
#define MPISTAIR_PREDICTOR_PLACEMENT_MAP_H

#include <stdbool.h>

#include "predictor/what_if/workload.h"

/* Returns whether mpistair was built with Scotch. */
bool placement_map_is_built(void);

/* Fills mapped, a placement of slots->n_ranks from placement_init, with the places of slots, each as often as there.
 * Returns 0, or -1 with the reason. */
int placement_map(const struct workload *workload, const struct placement *slots, uint64_t seed,
                  struct placement *mapped, struct error *error);

#endif

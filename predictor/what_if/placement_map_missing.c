/* Takes the place of placement_map.c where mpistair was built without Scotch. */
#include "predictor/what_if/places.h"

bool placement_map_is_built(void)
{
    return false;
}

int placement_map(const struct rank_bytes *pairs, size_t n_pairs, const struct placement *slots, uint64_t seed,
                  struct placement *mapped, struct error *error)
{
    (void)pairs, (void)n_pairs, (void)slots, (void)seed, (void)mapped;
    return error_set(error, "mpistair was built without Scotch");
}

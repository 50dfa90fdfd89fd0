/* Takes the place of placement_map.c where mpistair was built without Scotch. */
#include "predictor/what_if/placement_map.h"

bool placement_map_is_built(void)
{
    return false;
}

int placement_map(const struct workload *workload, const struct placement *slots, uint64_t seed,
                  struct placement *mapped, struct error *error)
{
    (void)workload, (void)slots, (void)seed, (void)mapped;
    return error_set(error,
                     "--best-placement: mpistair was built without Scotch, which the search begins with: install "
                     "libscotch-dev (Debian, Ubuntu), then build it once more");
}

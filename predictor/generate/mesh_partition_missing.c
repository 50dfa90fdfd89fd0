/* Takes the place of mesh_partition.c where mpistair was built without Scotch. */
#include "predictor/generate/mesh.h"

int mesh_partition(const struct mesh *mesh, size_t n_parts, uint64_t seed, uint32_t *part, struct error *error)
{
    (void)mesh, (void)n_parts, (void)seed, (void)part;
    return error_set(error,
                     "mesh: mpistair was built without Scotch, which divides meshes: install libscotch-dev (Debian, "
                     "Ubuntu), then build it once more");
}

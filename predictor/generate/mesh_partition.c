/* Gives the mesh to Scotch as a graph. One thread and a fixed seed make the same parts every time.
 *
 * Debian has Scotch with a release or more a year, and METIS 5.1.0 of 2013; so Scotch is used. */
#include "predictor/generate/mesh.h"
#include "share/base/scotch_library.h"
#include "share/base/memory.h"

#include <stdbool.h>
#include <stdlib.h>

struct csr {
    SCOTCH_Num *first;  /* [n_cells + 1] */
    SCOTCH_Num *arc;    /* [first[n_cells]] */
    SCOTCH_Num *weight; /* weight of each arc */
};

static void csr_release(struct csr *csr)
{
    FREE_ALL(csr->first, csr->arc, csr->weight);
}

static void csr_init(struct csr *csr, const struct mesh *mesh)
{
    uint32_t neighbours[MESH_MAX_NEIGHBOURS];
    *csr = (struct csr){.first = xmalloc(((size_t)mesh->n_cells + 1) * sizeof *csr->first)};
    csr->first[0] = 0;
    for (uint32_t cell = 0; cell < mesh->n_cells; cell++)
        csr->first[cell + 1] = csr->first[cell] + (SCOTCH_Num)mesh_neighbours(mesh, cell, neighbours);
    size_t n_arcs = (size_t)csr->first[mesh->n_cells];
    csr->arc = xmalloc((n_arcs + 1) * sizeof *csr->arc);
    csr->weight = xmalloc((n_arcs + 1) * sizeof *csr->weight);
    for (uint32_t cell = 0; cell < mesh->n_cells; cell++) {
        size_t n = mesh_neighbours(mesh, cell, neighbours), at = (size_t)csr->first[cell];
        for (size_t i = 0; i < n; i++) {
            csr->arc[at + i] = (SCOTCH_Num)neighbours[i];
            csr->weight[at + i] = (SCOTCH_Num)mesh_face_weight(mesh, cell, neighbours[i]);
        }
    }
}

/* Fills part[n_cells] from Scotch's numbers. */
static int partition(const struct csr *csr, SCOTCH_Num n_cells, SCOTCH_Num n_parts, uint64_t seed, SCOTCH_Num *part)
{
    SCOTCH_Context context;
    SCOTCH_Graph graph, bound;
    SCOTCH_Strat strategy;
    bool built = false;
    if (SCOTCH_contextInit(&context) != 0)
        return -1;
    SCOTCH_graphInit(&graph);
    SCOTCH_graphInit(&bound);
    SCOTCH_stratInit(&strategy);
    SCOTCH_contextRandomSeed(&context, (SCOTCH_Num)seed);
    SCOTCH_contextRandomReset(&context);
    if (SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) == 0 &&
        SCOTCH_contextThreadSpawn(&context, 1, NULL) == 0 &&
        SCOTCH_graphBuild(&graph, 0, n_cells, csr->first, NULL, NULL, NULL, csr->first[n_cells], csr->arc,
                          csr->weight) == 0)
        built = SCOTCH_contextBindGraph(&context, &graph, &bound) == 0;
    int result = -1;
    if (built)
        result = SCOTCH_graphPart(&bound, n_parts, &strategy, part) == 0 ? 0 : -1;
    SCOTCH_stratExit(&strategy);
    SCOTCH_graphExit(&bound);
    SCOTCH_graphExit(&graph);
    SCOTCH_contextExit(&context);
    return result;
}

int mesh_partition(const struct mesh *mesh, size_t n_parts, uint64_t seed, uint32_t *part, struct error *error)
{
    struct csr csr;
    SCOTCH_Num *found = xmalloc((mesh->n_cells + (size_t)1) * sizeof *found);
    int result = 0;
    csr_init(&csr, mesh);
    if (partition(&csr, (SCOTCH_Num)mesh->n_cells, (SCOTCH_Num)n_parts, seed, found) != 0)
        result =
            error_set(error, "Scotch could not partition a mesh of %u cells into %zu parts", mesh->n_cells, n_parts);
    for (uint32_t cell = 0; result == 0 && cell < mesh->n_cells; cell++)
        part[cell] = (uint32_t)found[cell];
    csr_release(&csr);
    free(found);
    return result;
}

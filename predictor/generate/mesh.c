/* Numbers cells by coarse cell, the eight of a refined one by x + 2 y + 4 z; neighbours follow from the numbers, so the
 * mesh stores none. */
#include "predictor/generate/mesh.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/random.h"
#include "share/base/memory.h"

/* Say which share of the coarse cells is refined, and how many coarse columns there are for a well. */
#define REFINED_SHARE    0.05
#define COLUMNS_PER_WELL 400.0

static uint32_t coarse_count(const struct mesh *mesh)
{
    return mesh->size[0] * mesh->size[1] * mesh->size[2];
}

/* Chooses size[] as 4 : 4 : 1 with about that many cells after refinement. */
static void choose_size(struct mesh *mesh, uint64_t n_cells)
{
    double coarse = (double)n_cells / (1 + 7 * REFINED_SHARE);
    double height = cbrt(coarse / 16);
    uint32_t z = height > 1 ? (uint32_t)(height + 0.5) : 1;
    double side = sqrt(coarse / z);
    uint32_t x = side > 1 ? (uint32_t)(side + 0.5) : 1;
    double rest = coarse / z / x;
    mesh->size[0] = x;
    mesh->size[1] = rest > 1 ? (uint32_t)(rest + 0.5) : 1;
    mesh->size[2] = z;
}

/* Refines the columns within the radius of a well: refined[columns]. */
static void refine_columns(const struct mesh *mesh, struct twister *random, unsigned char *refined)
{
    double columns = (double)mesh->size[0] * mesh->size[1];
    size_t n_wells = (size_t)(columns / COLUMNS_PER_WELL);
    double radius = sqrt(REFINED_SHARE * COLUMNS_PER_WELL / M_PI);
    for (size_t well = 0; well < n_wells; well++) {
        double x = twister_uniform(random) * mesh->size[0], y = twister_uniform(random) * mesh->size[1];
        for (long j = (long)(y - radius); j <= (long)(y + radius); j++)
            for (long i = (long)(x - radius); i <= (long)(x + radius); i++)
                if (i >= 0 && j >= 0 && i < (long)mesh->size[0] && j < (long)mesh->size[1] &&
                    hypot((double)i + 0.5 - x, (double)j + 0.5 - y) < radius)
                    refined[(size_t)j * mesh->size[0] + (size_t)i] = 1;
    }
}

/* Computes first[] from the refined columns. */
static void number_cells(struct mesh *mesh, const unsigned char *refined)
{
    uint32_t n_coarse = coarse_count(mesh), columns = mesh->size[0] * mesh->size[1];
    mesh->first[0] = 0;
    for (uint32_t coarse = 0; coarse < n_coarse; coarse++)
        mesh->first[coarse + 1] = mesh->first[coarse] + (refined[coarse % columns] ? 8 : 1);
    mesh->n_cells = mesh->first[n_coarse];
}

static void draw_permeabilities(struct mesh *mesh, double spread, struct twister *random)
{
    uint32_t n_coarse = coarse_count(mesh), columns = mesh->size[0] * mesh->size[1];
    double layer = 0;
    for (uint32_t coarse = 0; coarse < n_coarse; coarse++) {
        if (coarse % columns == 0)
            layer = twister_gaussian(random, spread / 2);
        mesh->permeability[coarse] = (float)exp(layer + twister_gaussian(random, spread));
    }
}

void mesh_init(struct mesh *mesh, uint64_t n_cells, double spread, uint64_t seed)
{
    *mesh = (struct mesh){0};
    choose_size(mesh, n_cells);
    size_t n_coarse = coarse_count(mesh), columns = (size_t)mesh->size[0] * mesh->size[1];
    unsigned char *refined = xcalloc(columns, 1);
    struct twister random;
    mesh->first = xmalloc((n_coarse + 1) * sizeof *mesh->first);
    mesh->permeability = xmalloc(n_coarse * sizeof *mesh->permeability);
    twister_seed(&random, seed);
    refine_columns(mesh, &random, refined);
    number_cells(mesh, refined);
    draw_permeabilities(mesh, spread, &random);
    mesh->coarse_of = xmalloc(mesh->n_cells * sizeof *mesh->coarse_of);
    free(refined);
    for (uint32_t coarse = 0; coarse < n_coarse; coarse++)
        for (uint32_t cell = mesh->first[coarse]; cell < mesh->first[coarse + 1]; cell++)
            mesh->coarse_of[cell] = coarse;
}

static uint32_t draw_deep(const struct mesh *mesh, struct twister *random)
{
    double share = 1 - sqrt(sqrt(1 - twister_uniform(random)));
    return (uint32_t)(share * mesh->n_cells);
}

void mesh_join_far(struct mesh *mesh, uint64_t n_far, uint64_t seed)
{
    if (n_far == 0)
        return;
    uint32_t *ends = xmalloc(2 * n_far * sizeof *ends);
    struct twister random;
    mesh->far_first = xmalloc(((size_t)mesh->n_cells + 1) * sizeof *mesh->far_first);
    mesh->far = xmalloc(2 * n_far * sizeof *mesh->far);
    twister_seed(&random, seed ^ 0x5bd1e995U); /* the mesh itself uses other numbers */
    for (size_t i = 0; i < 2 * n_far; i++)
        ends[i] = draw_deep(mesh, &random);
    mesh->n_far = n_far;
    array_sort_by_key(ends, sizeof *ends, 0, 2 * n_far, mesh->n_cells, mesh->far_first, mesh->far);
    for (size_t i = 0; i < 2 * n_far; i++)
        mesh->far[i] = ends[mesh->far[i] ^ 1];
    free(ends);
}

void mesh_release(struct mesh *mesh)
{
    FREE_ALL(mesh->first, mesh->coarse_of, mesh->permeability, mesh->far_first, mesh->far);
    *mesh = (struct mesh){0};
}

/* Returns the coarse cell beside one along axis, upwards or downwards; UINT32_MAX at the boundary. */
static uint32_t coarse_beside(const struct mesh *mesh, uint32_t coarse, int axis, int up)
{
    const uint32_t stride[3] = {1, mesh->size[0], mesh->size[0] * mesh->size[1]};
    uint32_t at = coarse / stride[axis] % mesh->size[axis];
    if (up ? at + 1 == mesh->size[axis] : at == 0)
        return UINT32_MAX;
    return up ? coarse + stride[axis] : coarse - stride[axis];
}

size_t mesh_neighbours(const struct mesh *mesh, uint32_t cell, uint32_t neighbours[MESH_MAX_NEIGHBOURS])
{
    uint32_t coarse = mesh->coarse_of[cell], within = cell - mesh->first[coarse];
    int fine = mesh->first[coarse + 1] - mesh->first[coarse] > 1;
    size_t n = 0;
    for (int axis = 0; axis < 3; axis++)
        for (int up = 0; up < 2; up++) {
            uint32_t bit = 1U << axis;
            int is_upper = (within & bit) != 0;
            if (fine && is_upper != up) { /* a sibling */
                neighbours[n++] = mesh->first[coarse] + (within ^ bit);
                continue;
            }
            uint32_t beside = coarse_beside(mesh, coarse, axis, up);
            if (beside == UINT32_MAX)
                continue;
            uint32_t first = mesh->first[beside];
            if (mesh->first[beside + 1] - first == 1)
                neighbours[n++] = first;
            else if (fine) /* mirrored at the face */
                neighbours[n++] = first + (within ^ bit);
            else
                for (uint32_t other = 0; other < 8; other++)
                    if (((other & bit) != 0) != up)
                        neighbours[n++] = first + other;
        }
    return n;
}

uint32_t mesh_face_weight(const struct mesh *mesh, uint32_t a, uint32_t b)
{
    double left = mesh->permeability[mesh->coarse_of[a]], right = mesh->permeability[mesh->coarse_of[b]];
    double weight = 10 * 2 * left * right / (left + right);
    return !(weight > 1) ? 1 : weight > 1000 ? 1000 : (uint32_t)weight;
}

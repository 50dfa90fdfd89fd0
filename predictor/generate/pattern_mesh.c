/* Makes the halo exchange of a partitioned mesh. Every rank owns a part and needs the cells of the parts around it that
 * are at most `layers` faces away from a cell of its own: cell_bytes each. Besides, n_far pairs of cells anywhere are
 * joined, as faults and fractures join cells that share no face: far_bytes each way. All that a rank needs of another
 * rank is one message. Whoever sends to a rank also receives from it; the sizes differ.
 *
 * The messages come in the order of the senders, then of the receivers. O(cells + cells needed).
 *
 * The mesh is a hexahedral one of a box, 4 : 4 : 1 in cells, as reservoirs are flat. Vertical wells stand at random
 * places. Every cell within a radius of one is split into eight, so that a face of a coarse cell meets four fine ones
 * (hanging nodes) and a cell has 3 to 24 neighbours: the cells that share a face with it. Every cell of the coarse grid
 * has a permeability, log-normal, by layer and by cell. For the partitioner a face weighs the harmonic mean of its two
 * cells' permeabilities (their transmissibility), as reservoir simulators partition: the more it varies, the more
 * scattered the parts. Cells are numbered by coarse cell, the eight of a refined one by x + 2 y + 4 z; neighbours
 * follow from the numbers, so the mesh stores none.
 *
 * Of far pairs both cells are drawn at random, and the deeper (towards the first layer) are the likelier, with a
 * density of 4 (1 - x)^3 at the share x of the cells. The partitioner does not know them. */
#include "predictor/generate/pattern_make.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/pattern/graph_cut.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/random.h"
#include "share/base/statistics.h"

enum { MESH_MAX_NEIGHBOURS = 24 };

struct mesh {
    uint32_t size[3];    /* size of the coarse grid */
    uint32_t n_cells;    /* after refinement */
    uint32_t *first;     /* [coarse cells + 1] a coarse cell's first cell: it has one, or eight */
    uint32_t *coarse_of; /* [n_cells] */
    float *permeability; /* [coarse cells] */
    size_t n_far;        /* pairs */
    uint32_t *far_first; /* [n_cells + 1] where a cell's far cells begin; NULL without far pairs */
    uint32_t *far;       /* [2 * n_far] cells joined with it */
};

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

/* Makes about n_cells cells (within a few percent from some thousands on), with permeabilities of that spread. */
static void mesh_init(struct mesh *mesh, uint64_t n_cells, double spread, uint64_t seed)
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

/* Joins n_far (below 2^30) pairs; may be called once. */
static void mesh_join_far(struct mesh *mesh, uint64_t n_far, uint64_t seed)
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

static void mesh_release(struct mesh *mesh)
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

/* Finds the cells that share a face with cell; returns how many. */
static size_t mesh_neighbours(const struct mesh *mesh, uint32_t cell, uint32_t neighbours[MESH_MAX_NEIGHBOURS])
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

/* Returns the weight of the face between two neighbours, 1 to 1000. */
static uint32_t mesh_face_weight(const struct mesh *mesh, uint32_t a, uint32_t b)
{
    double left = mesh->permeability[mesh->coarse_of[a]], right = mesh->permeability[mesh->coarse_of[b]];
    double weight = 10 * 2 * left * right / (left + right);
    return !(weight > 1) ? 1 : weight > 1000 ? 1000 : (uint32_t)weight;
}

static void mesh_graph(const struct mesh *mesh, struct graph *graph)
{
    uint32_t neighbours[MESH_MAX_NEIGHBOURS];
    *graph = (struct graph){.n = (SCOTCH_Num)mesh->n_cells,
                            .first = xmalloc(((size_t)mesh->n_cells + 1) * sizeof *graph->first)};
    graph->first[0] = 0;
    for (uint32_t cell = 0; cell < mesh->n_cells; cell++)
        graph->first[cell + 1] = graph->first[cell] + (SCOTCH_Num)mesh_neighbours(mesh, cell, neighbours);
    size_t n_arcs = (size_t)graph->first[mesh->n_cells];
    graph->to = xmalloc((n_arcs + 1) * sizeof *graph->to);
    graph->weight = xmalloc((n_arcs + 1) * sizeof *graph->weight);
    for (uint32_t cell = 0; cell < mesh->n_cells; cell++) {
        size_t n = mesh_neighbours(mesh, cell, neighbours), at = (size_t)graph->first[cell];
        for (size_t i = 0; i < n; i++) {
            graph->to[at + i] = (SCOTCH_Num)neighbours[i];
            graph->weight[at + i] = (SCOTCH_Num)mesh_face_weight(mesh, cell, neighbours[i]);
        }
    }
}

/* Sets each cell's part, part[n_cells], the same for the same seed. Returns 0, or -1 with the reason. */
static int mesh_partition(const struct mesh *mesh, size_t n_parts, uint64_t seed, uint32_t *part, struct error *error)
{
    struct graph graph;
    if (!graph_cut_is_built())
        return error_set(error, "mesh: mpistair was built without Scotch, which divides meshes: install libscotch-dev "
                                "(Debian, Ubuntu), then build it once more");
    SCOTCH_Num *found = xmalloc((mesh->n_cells + (size_t)1) * sizeof *found);
    mesh_graph(mesh, &graph);
    int result = graph_cut(&graph, n_parts, NULL, (SCOTCH_Num)seed, found);
    for (uint32_t cell = 0; result == 0 && cell < mesh->n_cells; cell++)
        part[cell] = (uint32_t)found[cell];
    FREE_ALL(graph.first, graph.to, graph.weight, found);
    return result == 0 ? 0
                       : error_set(error, "Scotch could not partition a mesh of %u cells into %zu parts", mesh->n_cells,
                                   n_parts);
}

struct halo {
    struct mesh mesh;
    uint32_t *part;       /* [n_cells] */
    uint32_t *part_first; /* [n_ranks + 1] into cells */
    uint32_t *cells;      /* [n_cells] by part */
    uint32_t *seen;       /* [n_cells] the last part that reached the cell, plus one */
    uint32_t *queue;      /* [n_cells] cells reached: own, then by distance, then far ones */
    uint64_t *needed;     /* [n_ranks] bytes of each owner that the current part needs, plus one; 0: nothing */
};

static void halo_release(struct halo *halo)
{
    mesh_release(&halo->mesh);
    FREE_ALL(halo->part, halo->part_first, halo->cells, halo->seen, halo->queue, halo->needed);
}

static int halo_init(struct halo *halo, const struct pattern_request *request, struct error *error)
{
    *halo = (struct halo){0};
    mesh_init(&halo->mesh, request->n_cells, request->spread, request->seed);
    mesh_join_far(&halo->mesh, request->n_far, request->seed);
    size_t n_cells = halo->mesh.n_cells;
    if (n_cells < request->n_ranks)
        return error_set(error, "mesh: %zu cells for %zu ranks; expected a cell a rank or more (--cells)", n_cells,
                         request->n_ranks);
    halo->part = xmalloc(n_cells * sizeof *halo->part);
    halo->part_first = xcalloc(request->n_ranks + 1, sizeof *halo->part_first);
    halo->cells = xmalloc(n_cells * sizeof *halo->cells);
    halo->seen = xcalloc(n_cells, sizeof *halo->seen);
    halo->queue = xmalloc(n_cells * sizeof *halo->queue);
    halo->needed = xcalloc(request->n_ranks, sizeof *halo->needed);
    return mesh_partition(&halo->mesh, request->n_ranks, request->seed, halo->part, error);
}

/* Puts a cell that the part has not reached yet at the end of the queue. */
static void reach_cell(struct halo *halo, uint32_t part, uint32_t cell, size_t *end)
{
    if (halo->seen[cell] == part + 1)
        return;
    halo->seen[cell] = part + 1;
    halo->queue[(*end)++] = cell;
}

/* Reaches the cells that far pairs join with the first n_own of the queue. */
static void reach_far(struct halo *halo, uint32_t part, size_t n_own, size_t *end)
{
    const struct mesh *mesh = &halo->mesh;
    for (size_t own = 0; own < n_own && mesh->n_far > 0; own++)
        for (uint32_t i = mesh->far_first[halo->queue[own]]; i < mesh->far_first[halo->queue[own] + 1]; i++)
            reach_cell(halo, part, mesh->far[i], end);
}

/* Fills queue[] with the part's cells, then those that it needs within that many layers; returns their number. */
static size_t reach_near(struct halo *halo, uint32_t part, uint32_t layers)
{
    uint32_t neighbours[MESH_MAX_NEIGHBOURS];
    size_t end = 0, at = 0;
    for (uint32_t i = halo->part_first[part]; i < halo->part_first[part + 1]; i++)
        reach_cell(halo, part, halo->cells[i], &end);
    for (uint32_t layer = 0; layer < layers; layer++)
        for (size_t layer_end = end; at < layer_end; at++) {
            size_t n = mesh_neighbours(&halo->mesh, halo->queue[at], neighbours);
            for (size_t i = 0; i < n; i++)
                reach_cell(halo, part, neighbours[i], &end);
        }
    return end;
}

/* Adds the messages to a part, from the owners of what it needs. */
static void add_receives(struct halo *halo, uint32_t part, const struct pattern_request *request,
                         struct pattern *pattern)
{
    size_t own = halo->part_first[part + 1] - halo->part_first[part], n_owners = 0;
    size_t near_end = reach_near(halo, part, request->layers), end = near_end;
    reach_far(halo, part, own, &end);
    uint32_t *owners = halo->queue; /* overwrites what was read, as an owner follows from a cell further behind */
    for (size_t i = own; i < end; i++) {
        uint32_t owner = halo->part[halo->queue[i]];
        if (halo->needed[owner] == 0) {
            halo->needed[owner] = 1;
            owners[n_owners++] = owner;
        }
        halo->needed[owner] += i < near_end ? request->cell_bytes : request->far_bytes;
    }
    qsort(owners, n_owners, sizeof *owners, compare_u32);
    for (size_t i = 0; i < n_owners; i++) {
        pattern_append(pattern, owners[i], part, halo->needed[owners[i]] - 1);
        halo->needed[owners[i]] = 0;
    }
}

/* Sorts by_receiver into pattern by sender; the order of the receivers stays. */
static void sort_by_sender(const struct pattern *by_receiver, size_t n_ranks, struct pattern *pattern)
{
    uint32_t *first = xmalloc((n_ranks + 1) * sizeof *first);
    uint32_t *order = xmalloc((by_receiver->n_messages + 1) * sizeof *order);
    array_sort_by_key(by_receiver->src, sizeof *by_receiver->src, 0, by_receiver->n_messages, n_ranks, first, order);
    for (size_t i = 0; i < by_receiver->n_messages; i++)
        pattern_append(pattern, by_receiver->src[order[i]], by_receiver->dst[order[i]],
                       pattern_bytes(by_receiver, order[i]));
    pattern->full = by_receiver->full;
    FREE_ALL(first, order);
}

int pattern_make_mesh(const struct pattern_request *request, const struct placement *placement, struct pattern *pattern,
                      struct error *error)
{
    (void)placement;
    struct halo halo;
    struct pattern by_receiver = {0};
    int result = halo_init(&halo, request, error);
    if (result == 0) {
        array_sort_by_key(halo.part, sizeof *halo.part, 0, halo.mesh.n_cells, request->n_ranks, halo.part_first,
                          halo.cells);
        for (uint32_t part = 0; part < request->n_ranks; part++)
            add_receives(&halo, part, request, &by_receiver);
        sort_by_sender(&by_receiver, request->n_ranks, pattern);
    }
    pattern_release(&by_receiver);
    halo_release(&halo);
    return result;
}

/* Makes the halo exchange of a partitioned mesh (mesh.h). Every rank owns a part and needs the cells of the parts
 * around it that are at most `layers` faces away from a cell of its own: cell_bytes each. Besides, n_far pairs of cells
 * anywhere are joined, as faults and fractures join cells that share no face: far_bytes each way. All that a rank needs
 * of another rank is one message. Whoever sends to a rank also receives from it; the sizes differ.
 *
 * The messages come in the order of the senders, then of the receivers. O(cells + cells needed). */
#include "predictor/generate/mesh.h"
#include "predictor/generate/pattern_make.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

#include <stdlib.h>

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

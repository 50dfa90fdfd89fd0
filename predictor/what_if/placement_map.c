/* Makes a first placement for the search: the graph of the ranks, its edges weighted by the bytes that a run sends
 * between two of them, is cut into nodes, then each node's part into its sockets, so that few bytes cross.
 *
 * A part may have about one percent more ranks than places. Ranks too many are then moved to where they lose least,
 * until every part is full exactly. Bytes between nodes are not time, so a search only starts here. */
#include "predictor/what_if/places.h"

#include <stdlib.h>

#include "predictor/what_if/arrange.h"
#include "predictor/pattern/group.h"
#include "predictor/pattern/graph_cut.h"
#include "share/base/memory.h"
#include "share/base/order.h"

/* Tells who exchanges how much with whom over a run: the neighbours of every rank, in both directions; weight: the
 * bytes between the two, scaled, 1 at least. */
struct rank_graph {
    size_t *first; /* [n_ranks + 1] into neighbour */
    uint32_t *neighbour;
    int32_t *weight;
};

/* Limits what all edges weigh together: Scotch adds them up in its own integer. */
#define WEIGHT_SUM 1e9

static int compare_pairs(const void *a, const void *b)
{
    const struct rank_bytes *x = a, *y = b;
    return ORDER(x->a, y->a) ?: ORDER(x->b, y->b);
}

/* Gathers both directions of every pair as edges, sorted, equal ones added up; returns how many. */
static size_t gather_edges(const struct rank_bytes *pairs, size_t n_pairs, struct rank_bytes *edges)
{
    size_t n = 0, unique = 0;
    for (size_t i = 0; i < n_pairs; i++) {
        if (pairs[i].a == pairs[i].b)
            continue;
        edges[n++] = pairs[i];
        edges[n++] = (struct rank_bytes){pairs[i].b, pairs[i].a, pairs[i].bytes};
    }
    qsort(edges, n, sizeof *edges, compare_pairs);
    for (size_t i = 0; i < n; i++)
        if (unique > 0 && compare_pairs(&edges[unique - 1], &edges[i]) == 0)
            edges[unique - 1].bytes += edges[i].bytes;
        else
            edges[unique++] = edges[i];
    return unique;
}

static void rank_graph_release(struct rank_graph *graph)
{
    FREE_ALL(graph->first, graph->neighbour, graph->weight);
}

/* Builds the graph in O(n log n) for n pairs. */
static void rank_graph_init(struct rank_graph *graph, const struct rank_bytes *pairs, size_t n_pairs, size_t n_ranks)
{
    struct rank_bytes *edges = xmalloc((2 * n_pairs + 1) * sizeof *edges);
    size_t n = gather_edges(pairs, n_pairs, edges);
    *graph = (struct rank_graph){.first = xcalloc(n_ranks + 1, sizeof *graph->first),
                                 .neighbour = xmalloc((n + 1) * sizeof *graph->neighbour),
                                 .weight = xmalloc((n + 1) * sizeof *graph->weight)};
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += edges[i].bytes;
    for (size_t i = 0; i < n; i++) {
        graph->first[edges[i].a + 1]++;
        graph->neighbour[i] = edges[i].b;
        graph->weight[i] = 1 + (sum > 0 ? (int32_t)(edges[i].bytes / sum * WEIGHT_SUM) : 0);
    }
    for (size_t rank = 0; rank < n_ranks; rank++)
        graph->first[rank + 1] += graph->first[rank];
    free(edges);
}

/* Describes a cut of the ranks members[n] into parts of capacity[n_parts] ranks, which add up to n. */
struct cut {
    const struct rank_graph *graph;
    const uint32_t *members; /* [n] */
    size_t n;
    const SCOTCH_Num *capacity; /* [n_parts] */
    size_t n_parts;
    uint32_t *index; /* [world] place in members plus one; 0: not in this cut */
    uint64_t seed;
};

/* Makes the graph of the members alone; n_edges: those of the ranks, at most. */
static void cut_graph(const struct cut *cut, size_t n_edges, struct graph *graph)
{
    size_t n = 0;
    *graph = (struct graph){.n = (SCOTCH_Num)cut->n,
                            .first = xmalloc((cut->n + 1) * sizeof *graph->first),
                            .to = xmalloc((n_edges + 1) * sizeof *graph->to),
                            .weight = xmalloc((n_edges + 1) * sizeof *graph->weight)};
    for (size_t i = 0; i < cut->n; i++) {
        graph->first[i] = (SCOTCH_Num)n;
        for (size_t e = cut->graph->first[cut->members[i]]; e < cut->graph->first[cut->members[i] + 1]; e++) {
            uint32_t index = cut->index[cut->graph->neighbour[e]];
            if (index == 0)
                continue;
            graph->to[n] = (SCOTCH_Num)(index - 1);
            graph->weight[n++] = cut->graph->weight[e];
        }
    }
    graph->first[cut->n] = (SCOTCH_Num)n;
}

/* Returns how much less crosses if member i goes to another part; may be negative. */
static double gain_of(const struct graph *graph, const SCOTCH_Num *part, size_t i, SCOTCH_Num to)
{
    double gain = 0;
    for (SCOTCH_Num e = graph->first[i]; e < graph->first[i + 1]; e++) {
        SCOTCH_Num other = part[graph->to[e]];
        gain += other == to ? graph->weight[e] : other == part[i] ? -graph->weight[e] : 0;
    }
    return gain;
}

/* Moves members out of parts that have too many, each time the one that gains most. */
static void even_out(const struct cut *cut, const struct graph *graph, SCOTCH_Num *part)
{
    SCOTCH_Num *room = xmalloc(cut->n_parts * sizeof *room); /* places left, may be negative */
    for (size_t p = 0; p < cut->n_parts; p++)
        room[p] = cut->capacity[p];
    for (size_t i = 0; i < cut->n; i++)
        room[part[i]]--;
    for (SCOTCH_Num to = 0; to < (SCOTCH_Num)cut->n_parts; to++)
        while (room[to] > 0) {
            size_t best = cut->n;
            double most = 0;
            for (size_t i = 0; i < cut->n; i++) {
                if (room[part[i]] >= 0)
                    continue;
                double gain = gain_of(graph, part, i, to);
                if (best == cut->n || gain > most) {
                    best = i;
                    most = gain;
                }
            }
            room[part[best]]++; /* the sizes add up, so there is one */
            room[to]--;
            part[best] = to;
        }
    free(room);
}

/* Cuts into part[n], every part full exactly. Returns 0, or -1: Scotch failed (it says why on stderr). */
static int cut_run(const struct cut *cut, SCOTCH_Num *part)
{
    if (cut->n_parts == 1) {
        for (size_t i = 0; i < cut->n; i++)
            part[i] = 0;
        return 0;
    }
    size_t n_edges = 0;
    for (size_t i = 0; i < cut->n; i++) {
        cut->index[cut->members[i]] = (uint32_t)i + 1;
        n_edges += cut->graph->first[cut->members[i] + 1] - cut->graph->first[cut->members[i]];
    }
    struct graph graph;
    cut_graph(cut, n_edges, &graph);
    int result = graph_cut(&graph, cut->n_parts, cut->capacity, (SCOTCH_Num)(cut->seed & 0x3fffffff), part);
    if (result == 0)
        even_out(cut, &graph, part);
    for (size_t i = 0; i < cut->n; i++)
        cut->index[cut->members[i]] = 0;
    FREE_ALL(graph.first, graph.to, graph.weight);
    return result;
}

/* Holds what the two cuts work in: arrays of n_ranks. */
struct map_work {
    struct rank_graph graph;
    struct grouping nodes, sockets;
    uint32_t *index;      /* 0 between cuts */
    uint32_t *members;    /* ranks of a cut */
    SCOTCH_Num *node_of;  /* [n_ranks] */
    SCOTCH_Num *part;     /* part of each member */
    SCOTCH_Num *capacity; /* capacity of each part */
};

/* Places the ranks that went to a node onto its sockets, whose groups are first_socket .. */
static int place_node(struct map_work *work, const struct placement *slots, size_t node, size_t *first_socket,
                      uint64_t seed, struct placement *mapped)
{
    struct cut cut = {.graph = &work->graph,
                      .members = work->members,
                      .capacity = work->capacity,
                      .index = work->index,
                      .seed = seed};
    size_t socket = *first_socket;
    for (size_t places = 0; places < work->nodes.first[node + 1] - work->nodes.first[node]; cut.n_parts++) {
        size_t in_socket = work->sockets.first[socket + cut.n_parts + 1] - work->sockets.first[socket + cut.n_parts];
        work->capacity[cut.n_parts] = (SCOTCH_Num)in_socket;
        places += in_socket;
    }
    for (size_t rank = 0; rank < slots->n_ranks; rank++)
        if (work->node_of[rank] == (SCOTCH_Num)node)
            work->members[cut.n++] = (uint32_t)rank;
    if (cut_run(&cut, work->part) != 0)
        return -1;
    for (size_t i = 0; i < cut.n; i++) { /* capacity counts down the places of the socket */
        size_t group = socket + (size_t)work->part[i];
        size_t slot = work->sockets.first[group] + (size_t)--work->capacity[work->part[i]];
        placement_copy_rank(mapped, work->members[i], slots, work->sockets.member[slot]);
    }
    *first_socket += cut.n_parts;
    return 0;
}

static void map_work_init(struct map_work *work, const struct rank_bytes *pairs, size_t n_pairs,
                          const struct placement *slots)
{
    size_t n = slots->n_ranks + 1;
    work->index = xcalloc(n, sizeof *work->index);
    work->members = xmalloc(n * sizeof *work->members);
    work->node_of = xmalloc(n * sizeof *work->node_of);
    work->part = xmalloc(n * sizeof *work->part);
    work->capacity = xmalloc(n * sizeof *work->capacity);
    rank_graph_init(&work->graph, pairs, n_pairs, slots->n_ranks);
    grouping_init(&work->nodes, slots, GROUP_BY_NODE);
    grouping_init(&work->sockets, slots, GROUP_BY_SOCKET);
}

bool placement_map_is_built(void)
{
    return graph_cut_is_built();
}

int placement_map(const struct rank_bytes *pairs, size_t n_pairs, const struct placement *slots, uint64_t seed,
                  struct placement *mapped, struct error *error)
{
    struct map_work work;
    map_work_init(&work, pairs, n_pairs, slots);
    struct cut cut = {.graph = &work.graph,
                      .members = work.members,
                      .n = slots->n_ranks,
                      .capacity = work.capacity,
                      .n_parts = work.nodes.n_groups,
                      .index = work.index,
                      .seed = seed};
    for (size_t rank = 0; rank < slots->n_ranks; rank++)
        work.members[rank] = (uint32_t)rank;
    for (size_t node = 0; node < work.nodes.n_groups; node++)
        work.capacity[node] = (SCOTCH_Num)(work.nodes.first[node + 1] - work.nodes.first[node]);
    int result = cut_run(&cut, work.node_of);
    size_t first_socket = 0;
    for (size_t node = 0; result == 0 && node < work.nodes.n_groups; node++)
        result = place_node(&work, slots, node, &first_socket, seed, mapped);
    rank_graph_release(&work.graph);
    grouping_release(&work.nodes);
    grouping_release(&work.sockets);
    FREE_ALL(work.index, work.members, work.node_of, work.part, work.capacity);
    return result == 0 ? 0
                       : error_set(error, "the partitioner Scotch failed on %zu ranks (no memory?)", slots->n_ranks);
}

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

/* What the cuts into nodes and into sockets share; arrays of n_ranks. */
struct mapping {
    struct graph ranks; /* who exchanges how much with whom over a run; weight: the bytes, scaled, 1 at least */
    struct grouping nodes, sockets;
    SCOTCH_Num seed;
    uint32_t *members;    /* ranks of a cut */
    uint32_t *index;      /* place of a rank in members plus one; 0: not in this cut, and between cuts */
    SCOTCH_Num *capacity; /* places of each part, which add up to the members */
    SCOTCH_Num *node_of;  /* the node of each rank */
    SCOTCH_Num *part;     /* the socket of each member */
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

/* Builds the graph in O(n log n) for n pairs. */
static void graph_init(struct graph *graph, const struct rank_bytes *pairs, size_t n_pairs, size_t n_ranks)
{
    struct rank_bytes *edges = xmalloc((2 * n_pairs + 1) * sizeof *edges);
    size_t n = gather_edges(pairs, n_pairs, edges);
    *graph = (struct graph){.n = (SCOTCH_Num)n_ranks,
                            .first = xcalloc(n_ranks + 1, sizeof *graph->first),
                            .to = xmalloc((n + 1) * sizeof *graph->to),
                            .weight = xmalloc((n + 1) * sizeof *graph->weight)};
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += edges[i].bytes;
    for (size_t i = 0; i < n; i++) {
        graph->first[edges[i].a + 1]++;
        graph->to[i] = (SCOTCH_Num)edges[i].b;
        graph->weight[i] = 1 + (sum > 0 ? (SCOTCH_Num)(edges[i].bytes / sum * WEIGHT_SUM) : 0);
    }
    for (size_t rank = 0; rank < n_ranks; rank++)
        graph->first[rank + 1] += graph->first[rank];
    free(edges);
}

static void graph_release(struct graph *graph)
{
    FREE_ALL(graph->first, graph->to, graph->weight);
}

/* Makes the graph of the n members alone, which graph_release ends. */
static void members_graph(const struct mapping *mapping, size_t n, struct graph *graph)
{
    const struct graph *ranks = &mapping->ranks;
    SCOTCH_Num n_edges = 0;
    for (size_t i = 0; i < n; i++)
        n_edges += ranks->first[mapping->members[i] + 1] - ranks->first[mapping->members[i]];
    *graph = (struct graph){.n = (SCOTCH_Num)n,
                            .first = xcalloc(n + 1, sizeof *graph->first),
                            .to = xmalloc((size_t)(n_edges + 1) * sizeof *graph->to),
                            .weight = xmalloc((size_t)(n_edges + 1) * sizeof *graph->weight)};
    n_edges = 0;
    for (size_t i = 0; i < n; i++) {
        for (SCOTCH_Num e = ranks->first[mapping->members[i]]; e < ranks->first[mapping->members[i] + 1]; e++) {
            uint32_t index = mapping->index[ranks->to[e]];
            if (index == 0)
                continue;
            graph->to[n_edges] = (SCOTCH_Num)(index - 1);
            graph->weight[n_edges++] = ranks->weight[e];
        }
        graph->first[i + 1] = n_edges;
    }
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
static void even_out(const struct graph *graph, size_t n_parts, const SCOTCH_Num *capacity, SCOTCH_Num *part)
{
    size_t n = (size_t)graph->n;
    SCOTCH_Num *room = xmalloc(n_parts * sizeof *room); /* places left, may be negative */
    for (size_t p = 0; p < n_parts; p++)
        room[p] = capacity[p];
    for (size_t i = 0; i < n; i++)
        room[part[i]]--;
    for (SCOTCH_Num to = 0; to < (SCOTCH_Num)n_parts; to++)
        while (room[to] > 0) {
            size_t best = n;
            double most = 0;
            for (size_t i = 0; i < n; i++) {
                if (room[part[i]] >= 0)
                    continue;
                double gain = gain_of(graph, part, i, to);
                if (best == n || gain > most) {
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

/* Cuts the n members into part[n] of those capacities, every part full exactly. Returns 0, or -1: Scotch failed. */
static int cut_members(const struct mapping *mapping, size_t n, size_t n_parts, SCOTCH_Num *part)
{
    if (n_parts == 1) {
        for (size_t i = 0; i < n; i++)
            part[i] = 0;
        return 0;
    }
    struct graph graph;
    for (size_t i = 0; i < n; i++)
        mapping->index[mapping->members[i]] = (uint32_t)i + 1;
    members_graph(mapping, n, &graph);
    for (size_t i = 0; i < n; i++)
        mapping->index[mapping->members[i]] = 0;
    int result = graph_cut(&graph, n_parts, mapping->capacity, mapping->seed, part);
    if (result == 0)
        even_out(&graph, n_parts, mapping->capacity, part);
    graph_release(&graph);
    return result;
}

/* Cuts all ranks into nodes. */
static int cut_nodes(const struct mapping *mapping)
{
    const struct grouping *nodes = &mapping->nodes;
    size_t n_ranks = (size_t)mapping->ranks.n;
    for (size_t rank = 0; rank < n_ranks; rank++)
        mapping->members[rank] = (uint32_t)rank;
    for (size_t node = 0; node < nodes->n_groups; node++)
        mapping->capacity[node] = (SCOTCH_Num)(nodes->first[node + 1] - nodes->first[node]);
    return cut_members(mapping, n_ranks, nodes->n_groups, mapping->node_of);
}

/* Places the ranks that went to a node onto its sockets, whose groups are *first_socket .. */
static int place_node(const struct mapping *mapping, const struct placement *slots, size_t node, size_t *first_socket,
                      struct placement *mapped)
{
    const size_t *places_of = &mapping->sockets.first[*first_socket];
    size_t n_members = 0, n_sockets = 0;
    for (size_t places = 0; places < mapping->nodes.first[node + 1] - mapping->nodes.first[node]; n_sockets++) {
        size_t in_socket = places_of[n_sockets + 1] - places_of[n_sockets];
        mapping->capacity[n_sockets] = (SCOTCH_Num)in_socket;
        places += in_socket;
    }
    for (size_t rank = 0; rank < slots->n_ranks; rank++)
        if (mapping->node_of[rank] == (SCOTCH_Num)node)
            mapping->members[n_members++] = (uint32_t)rank;
    if (cut_members(mapping, n_members, n_sockets, mapping->part) != 0)
        return -1;
    for (size_t i = 0; i < n_members; i++) { /* capacity counts down the places of the socket */
        SCOTCH_Num socket = mapping->part[i];
        size_t slot = places_of[socket] + (size_t)--mapping->capacity[socket];
        placement_copy_rank(mapped, mapping->members[i], slots, mapping->sockets.member[slot]);
    }
    *first_socket += n_sockets;
    return 0;
}

bool placement_map_is_built(void)
{
    return graph_cut_is_built();
}

int placement_map(const struct rank_bytes *pairs, size_t n_pairs, const struct placement *slots, uint64_t seed,
                  struct placement *mapped, struct error *error)
{
    size_t n = slots->n_ranks + 1, first_socket = 0;
    struct mapping mapping = {.seed = (SCOTCH_Num)(seed & 0x3fffffff),
                              .members = xmalloc(n * sizeof *mapping.members),
                              .index = xcalloc(n, sizeof *mapping.index),
                              .capacity = xmalloc(n * sizeof *mapping.capacity),
                              .node_of = xmalloc(n * sizeof *mapping.node_of),
                              .part = xmalloc(n * sizeof *mapping.part)};
    graph_init(&mapping.ranks, pairs, n_pairs, slots->n_ranks);
    grouping_init(&mapping.nodes, slots, GROUP_BY_NODE);
    grouping_init(&mapping.sockets, slots, GROUP_BY_SOCKET);
    int result = cut_nodes(&mapping);
    for (size_t node = 0; result == 0 && node < mapping.nodes.n_groups; node++)
        result = place_node(&mapping, slots, node, &first_socket, mapped);
    graph_release(&mapping.ranks);
    grouping_release(&mapping.nodes);
    grouping_release(&mapping.sockets);
    FREE_ALL(mapping.members, mapping.index, mapping.capacity, mapping.node_of, mapping.part);
    return result == 0 ? 0
                       : error_set(error, "the partitioner Scotch failed on %zu ranks (no memory?)", slots->n_ranks);
}

/* +contention adds to any model what the load of the network's links costs.
 *
 * A. Bienz, W. D. Gropp and L. N. Olson, Improving Performance Models for Irregular Point-to-Point Communication,
 * EuroMPI 2018 (B), equations 5 and 7:
 *
 *   T_c = delta l           l = 2 h^3 b ppn     where the network is not known
 *
 *   delta   what a byte on a link costs those that wait for it                  delta_s_per_byte   s/B
 *   l       bytes that cross a link                                             load_bytes         B
 *   h       links that a byte crosses, mean over the bytes between nodes        hops               -
 *   b       bytes between nodes that a rank sends, mean over the ranks          sent_bytes         B
 *   ppn     ranks of a node, mean                                               -                  -
 *
 * Without a topology the nodes are taken to be in the smallest cube that holds them (topology.c); then l is one
 * number for the round. b ppn is the volume over the nodes, whatever their numbers of ranks. With a topology l is
 * what the routes give: the largest load of a link on the way of a rank's messages, those it sends and those it
 * receives (share/doc/MODELS.md, Network contention). Only ranks with bytes between nodes pay. delta is the
 * machine's at inter_node, else at level any.
 *
 * Limits: l holds all bytes of the round, however they are spread over time. On the paper's own SpMV the term makes
 * the model worse, on its SpGEMM better (share/doc/MODELS.md, Network contention). The routes are static and minimal
 * (topology.c). */
#include <math.h>
#include <stdlib.h>

#include "predictor/pattern/group.h"
#include "predictor/pattern/traffic.h"
#include "predictor/terms/topology.h"
#include "predictor/models/model.h"
#include "share/base/memory.h"

/* Holds the messages between nodes, by the node that sends them. */
struct network_traffic {
    const struct pattern *pattern;
    struct grouping nodes;
    size_t *first;      /* [n_groups + 1] into order */
    uint32_t *order;    /* [first[n_groups]] messages */
    double total_bytes; /* all bytes between nodes */
};

static bool crosses(const struct network_traffic *traffic, size_t message)
{
    const struct pattern *pattern = traffic->pattern;
    return pattern_bytes(pattern, message) > 0 &&
           traffic->nodes.of[pattern->src[message]] != traffic->nodes.of[pattern->dst[message]];
}

static void network_traffic_release(struct network_traffic *traffic)
{
    grouping_release(&traffic->nodes);
    FREE_ALL(traffic->first, traffic->order);
}

static void network_traffic_init(struct network_traffic *traffic, const struct pattern *pattern,
                                 const struct placement *placement)
{
    *traffic = (struct network_traffic){.pattern = pattern};
    grouping_init(&traffic->nodes, placement, GROUP_BY_NODE);
    size_t n_nodes = traffic->nodes.n_groups;
    traffic->first = xcalloc(n_nodes + 2, sizeof *traffic->first);
    size_t *next = traffic->first + 1; /* one further on, so that filling moves it to its place */
    for (size_t k = 0; k < pattern->n_messages; k++)
        if (crosses(traffic, k)) {
            next[traffic->nodes.of[pattern->src[k]] + 1]++;
            traffic->total_bytes += (double)pattern_bytes(pattern, k);
        }
    for (size_t node = 0; node < n_nodes; node++)
        next[node + 1] += next[node];
    traffic->order = xmalloc((next[n_nodes] + 1) * sizeof *traffic->order);
    for (size_t k = 0; k < pattern->n_messages; k++)
        if (crosses(traffic, k))
            traffic->order[next[traffic->nodes.of[pattern->src[k]]]++] = (uint32_t)k;
}

/* Computes B7, the same for every rank: rank_bytes[n_ranks]. */
static void cube_load(const struct network_traffic *traffic, double *rank_bytes)
{
    const struct pattern *pattern = traffic->pattern;
    const struct grouping *nodes = &traffic->nodes;
    size_t n_messages = traffic->first[nodes->n_groups];
    uint32_t edge = cube_edge(nodes->n_groups); /* routers */
    double byte_hops = 0;
    for (size_t i = 0; i < n_messages; i++) {
        uint32_t message = traffic->order[i];
        byte_hops += (double)pattern_bytes(pattern, message) *
                     cube_hops(edge, nodes->of[pattern->src[message]], nodes->of[pattern->dst[message]]);
    }
    double hops = byte_hops / traffic->total_bytes;
    double load_bytes = 2 * hops * hops * hops * traffic->total_bytes / (double)nodes->n_groups; /* B7 */
    for (size_t i = 0; i < n_messages; i++) {
        rank_bytes[pattern->src[traffic->order[i]]] = load_bytes;
        rank_bytes[pattern->dst[traffic->order[i]]] = load_bytes;
    }
}

struct routed {
    struct links links;
    double *load_bytes; /* [n_links] */
    struct error *error;
};

/* Adds the bytes of each pair of nodes to the links between them, one sender at a time: a pair is looked up once.
 * row[n_groups] is 0 before and after. */
static int add_loads(struct routed *routed, const struct network_traffic *traffic, double *row, uint32_t *touched)
{
    int result = 0;
    for (uint32_t src = 0; src < traffic->nodes.n_groups; src++) {
        size_t n = 0;
        for (size_t i = traffic->first[src]; i < traffic->first[src + 1]; i++) {
            uint32_t message = traffic->order[i], dst = traffic->nodes.of[traffic->pattern->dst[message]];
            if (!(row[dst] > 0))
                touched[n++] = dst;
            row[dst] += (double)pattern_bytes(traffic->pattern, message);
        }
        for (size_t i = 0; i < n; i++) {
            long n_links = result == 0 ? links_route(&routed->links, src, touched[i], routed->error) : 0;
            for (long link = 0; link < n_links; link++)
                routed->load_bytes[routed->links.route[link]] += row[touched[i]];
            result = n_links < 0 ? -1 : result;
            row[touched[i]] = 0;
        }
    }
    return result;
}

/* Returns the largest load on the way from src to dst. */
static double heaviest(struct routed *routed, uint32_t src, uint32_t dst)
{
    double most = 0;
    long n = links_route(&routed->links, src, dst, routed->error);
    for (long i = 0; i < n; i++)
        most = fmax(most, routed->load_bytes[routed->links.route[i]]);
    return most;
}

/* Gives every message's load to both of its ranks; a pair of nodes is looked up once. row[n_groups] is all 0. */
static void rank_loads(struct routed *routed, const struct network_traffic *traffic, double *row, double *rank_bytes)
{
    const struct pattern *pattern = traffic->pattern;
    for (size_t src = 0; src < traffic->nodes.n_groups; src++) {
        for (size_t i = traffic->first[src]; i < traffic->first[src + 1]; i++)
            row[traffic->nodes.of[pattern->dst[traffic->order[i]]]] = -1;
        for (size_t i = traffic->first[src]; i < traffic->first[src + 1]; i++) {
            uint32_t message = traffic->order[i], dst = traffic->nodes.of[pattern->dst[message]];
            if (row[dst] < 0)
                row[dst] = heaviest(routed, (uint32_t)src, dst);
            rank_bytes[pattern->src[message]] = fmax(rank_bytes[pattern->src[message]], row[dst]);
            rank_bytes[pattern->dst[message]] = fmax(rank_bytes[pattern->dst[message]], row[dst]);
        }
    }
}

static int routed_load(const struct network_traffic *traffic, const struct placement *placement,
                       const struct topology *topology, double *row, uint32_t *touched, double *rank_bytes,
                       struct error *error)
{
    struct routed routed = {.load_bytes = xcalloc(topology->n_links, sizeof *routed.load_bytes), .error = error};
    int result = links_init(&routed.links, topology, placement, &traffic->nodes, error);
    if (result == 0)
        result = add_loads(&routed, traffic, row, touched);
    if (result == 0)
        rank_loads(&routed, traffic, row, rank_bytes);
    links_release(&routed.links);
    free(routed.load_bytes);
    return result;
}

static int contention_add(const struct model_input *input, struct prediction *prediction, struct error *error)
{
    const struct placement *placement = input->placement;
    const struct topology *topology = input->options->topology;
    struct network_traffic traffic;
    double delta_s_per_byte = 0;
    int result = -1;
    network_traffic_init(&traffic, input->traffic->pattern, placement);
    double *row = xcalloc(traffic.nodes.n_groups + 1, sizeof *row);
    uint32_t *touched = xcalloc(traffic.nodes.n_groups + 1, sizeof *touched);
    double *rank_bytes = xcalloc(placement->n_ranks + 1, sizeof *rank_bytes);
    if (!(traffic.total_bytes > 0))
        result = 0;
    else if (links_delta(input->machine, &delta_s_per_byte, error) == 0) {
        result = 0;
        if (topology == NULL)
            cube_load(&traffic, rank_bytes);
        else
            result = routed_load(&traffic, placement, topology, row, touched, rank_bytes, error);
    }
    for (size_t rank = 0; result == 0 && rank < placement->n_ranks; rank++)
        prediction->part_s[PART_LINK][rank] += delta_s_per_byte * rank_bytes[rank]; /* B5 */
    network_traffic_release(&traffic);
    FREE_ALL(row, touched, rank_bytes);
    return result;
}

const struct model_term contention_term = {.name = "contention",
                                           .summary = "the load of the links: of --topology, else of a cube of nodes",
                                           .topology = true,
                                           .add = contention_add};

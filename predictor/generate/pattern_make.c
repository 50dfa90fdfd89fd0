/* Makes the kinds of pattern that need no mesh: the synthetic experiments of Thune et al. 2023 (T), in- and outcast,
 * and a random one.
 *
 * pairs       T Fig. 3: pairs of ranks exchange 2s, s and s/2 bytes, three sizes in turn.
 * neighbours  T Fig. 4(b): every rank sends and receives three messages of different sizes within its block (the ranks
 *             of a socket in block order). The text gives the numbers (64 ranks, 192 messages, 0.05 to 0.5 MB a rank,
 *             16.5 MB), the picture the partners. Here rank i of a block receives from i-1, i-2 and i-4, a sixth, a
 *             third and half of V_i, which rises linearly over the ranks from the least to the most: 17.6 MB.
 *             With the order `socket` it is the experiment of T Fig. 5(c): levels mixed by another placement.
 * mixed       T Fig. 5(a): two thirds of the ranks of a socket exchange s bytes in pairs within it, the last third
 *             with the rank at their place of the socket beside it.
 * incast      every rank outside of rank 0's node (all others, if there is one node) sends s bytes to rank 0.
 * outcast     rank 0 sends s bytes to each of these ranks.
 * irregular   every rank sends 1 to `degree` messages to others drawn at random, sizes log-uniform.
 */
#include "predictor/generate/pattern_make.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/random.h"
#include "share/base/memory.h"

static void exchange(struct pattern *pattern, size_t a, size_t b, uint64_t bytes)
{
    pattern_append(pattern, a, b, bytes);
    pattern_append(pattern, b, a, bytes);
}

static int make_pairs(const struct pattern_request *request, const struct placement *placement, struct pattern *pattern,
                      struct error *error)
{
    (void)placement;
    if (request->n_ranks % 2 != 0)
        return error_set(error, "pairs: %zu ranks; expected an even number", request->n_ranks);
    uint64_t s = request->least_bytes;
    if (s > UINT64_MAX / 2)
        return error_set(error, "pairs: twice %llu bytes are more than 64 bits hold", (unsigned long long)s);
    const uint64_t bytes[] = {2 * s, s, s / 2};
    for (size_t pair = 0; pair < request->n_ranks / 2; pair++)
        exchange(pattern, 2 * pair, 2 * pair + 1, bytes[pair % 3]);
    return 0;
}

/* Returns what rank receives in `neighbours`. */
static double ramp_bytes(const struct pattern_request *request, size_t rank)
{
    double share = request->n_ranks > 1 ? (double)rank / (double)(request->n_ranks - 1) : 0;
    return (double)request->least_bytes + share * ((double)request->most_bytes - (double)request->least_bytes);
}

static int make_neighbours(const struct pattern_request *request, const struct placement *placement,
                           struct pattern *pattern, struct error *error)
{
    (void)placement;
    static const size_t distance[] = {1, 2, 4};
    for (size_t first = 0; first < request->n_ranks; first += request->n_cores) {
        size_t rest = request->n_ranks - first;
        size_t size = rest < request->n_cores ? rest : request->n_cores;
        if (size < 5)
            return error_set(error, "neighbours: a socket with %zu ranks; expected 5 or more on each", size);
        for (size_t i = 0; i < size; i++)
            for (size_t k = 0; k < 3; k++)
                pattern_append(pattern, first + (i + size - distance[k]) % size, first + i,
                               (uint64_t)(ramp_bytes(request, first + i) * (double)(k + 1) / 6));
    }
    return 0;
}

static int make_mixed(const struct pattern_request *request, const struct placement *placement, struct pattern *pattern,
                      struct error *error)
{
    (void)placement;
    size_t cores = request->n_cores, within = cores / 3 * 2;
    if (request->n_sockets % 2 != 0 || cores < 3 ||
        request->n_ranks != (size_t)request->n_nodes * request->n_sockets * cores)
        return error_set(
            error,
            "mixed: %zu ranks on %u nodes of %u sockets of %zu cores; expected sockets in pairs, 3 cores or "
            "more, and a rank on each core",
            request->n_ranks, request->n_nodes, request->n_sockets, cores);
    for (size_t first = 0; first < request->n_ranks; first += cores) {
        for (size_t i = 0; i < within; i += 2)
            exchange(pattern, first + i, first + i + 1, request->least_bytes);
        for (size_t i = within; i < cores && first / cores % 2 == 0; i++)
            exchange(pattern, first + i, first + cores + i, request->least_bytes);
    }
    return 0;
}

/* Makes messages to rank 0, or from it. */
static int make_cast(const struct pattern_request *request, const struct placement *placement, bool to_root,
                     struct pattern *pattern, struct error *error)
{
    if (request->n_ranks < 2)
        return error_set(error, "%s: 1 rank; expected 2 or more", to_root ? "incast" : "outcast");
    for (size_t rank = 1; rank < request->n_ranks; rank++)
        if (request->n_nodes == 1 || placement->node[rank] != placement->node[0])
            pattern_append(pattern, to_root ? rank : 0, to_root ? 0 : rank, request->least_bytes);
    return 0;
}

static int make_incast(const struct pattern_request *request, const struct placement *placement,
                       struct pattern *pattern, struct error *error)
{
    return make_cast(request, placement, true, pattern, error);
}

static int make_outcast(const struct pattern_request *request, const struct placement *placement,
                        struct pattern *pattern, struct error *error)
{
    return make_cast(request, placement, false, pattern, error);
}

/* Draws log-uniform bytes: as many below as above the geometric mean. */
static uint64_t random_bytes(const struct pattern_request *request, struct twister *random)
{
    double least = (double)request->least_bytes;
    double draw = twister_uniform(random);
    if (request->least_bytes == request->most_bytes)
        return request->least_bytes;
    if (request->least_bytes == 0) /* shifted by one, as the logarithm of 0 has no place */
        return (uint64_t)pow((double)request->most_bytes + 1, draw) - 1;
    return (uint64_t)(least * pow((double)request->most_bytes / least, draw));
}

/* Makes messages of src to others, none twice. peers[n_ranks] is a permutation, which is shuffled further. */
static void send_at_random(const struct pattern_request *request, size_t src, uint32_t *peers, struct twister *random,
                           struct pattern *pattern)
{
    size_t n_others = request->n_ranks - 1;
    size_t most = request->degree < n_others ? request->degree : n_others;
    size_t n_messages = 1 + twister_below(random, most);
    for (size_t i = 0, sent = 0; sent < n_messages; i++) {
        size_t j = i + twister_below(random, request->n_ranks - i);
        uint32_t peer = peers[j];
        peers[j] = peers[i];
        peers[i] = peer;
        if (peer == src)
            continue;
        pattern_append(pattern, src, peer, random_bytes(request, random));
        sent++;
    }
}

static int make_irregular(const struct pattern_request *request, const struct placement *placement,
                          struct pattern *pattern, struct error *error)
{
    (void)placement;
    if (request->n_ranks < 2)
        return error_set(error, "irregular: 1 rank; expected 2 or more");
    uint32_t *peers = xmalloc(request->n_ranks * sizeof *peers);
    struct twister random;
    twister_seed(&random, request->seed);
    for (size_t i = 0; i < request->n_ranks; i++)
        peers[i] = (uint32_t)i;
    for (size_t src = 0; src < request->n_ranks; src++)
        send_at_random(request, src, peers, &random, pattern);
    free(peers);
    return 0;
}

const struct pattern_kind pattern_kinds[] = {
    {"mesh", "neighbours of a partitioned unstructured 3-D mesh", 0, 0, pattern_make_mesh},
    {"pairs", "pairs exchange 2s, s and s/2", 1000000, 0, make_pairs},
    {"neighbours", "every rank with three neighbours within its socket", 50000, 500000, make_neighbours},
    {"mixed", "pairs within a socket, and between two", 1000000, 0, make_mixed},
    {"incast", "every rank of the other nodes sends to rank 0", 1000000, 0, make_incast},
    {"outcast", "rank 0 sends to every rank of the other nodes", 1000000, 0, make_outcast},
    {"irregular", "every rank sends to some others, drawn at random", 100000, 2000000, make_irregular},
    {NULL, NULL, 0, 0, NULL},
};

void placement_make(const struct pattern_request *request, struct placement *placement)
{
    placement_init(placement, request->n_ranks);
    size_t cores = request->n_cores, sockets = request->n_sockets;
    for (size_t rank = 0; rank < request->n_ranks; rank++) {
        size_t node = rank / (sockets * cores), within = rank % (sockets * cores);
        if (request->order == ORDER_NODE) {
            node = rank % request->n_nodes;
            within = rank / request->n_nodes;
        }
        placement->node[rank] = (uint32_t)node;
        placement->socket[rank] = (uint32_t)(request->order == ORDER_SOCKET ? within % sockets : within / cores);
    }
}

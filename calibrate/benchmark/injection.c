/* Measures the rate at which a node can inject data into the network, R_N (B2 and B Table 1, H2): n = 1, 2, 4, ... and
 * all of its processes send at the same time, each to a process of its own on another node, until the rate no longer
 * grows.
 *
 * The node is the one with the most processes. The receivers are spread over all other nodes, so that no receiver's
 * link is the limit where there are several. Sizes begin at 64 KiB: R_N limits rendezvous messages only (B Table 1).
 * The seconds of a sample are the slowest rank's, repeats divided out; each repetition has its own place of a long
 * buffer. Papers are named as in share/doc/MODELS.md. */
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/benchmark/benchmarks.h"
#include "share/base/memory.h"
#include "share/base/order.h"

/* Repetitions that are posted at once, and those of a sample, at most; tags. */
enum { BATCH = 10, INJECTION_REPEATS_MAX = 4096 };

#define INJECTION_BYTES_MIN 65536u
#define INJECTION_BYTES_MAX 4194304u

static struct pair *injection_pairs; /* [n_pairs_max], the first n of them for n */
static size_t n_pairs_max;
static char injection_name[32];

/* Returns the node with the most ranks. */
static uint32_t largest_node(const struct placement *placement)
{
    uint32_t largest = placement->node[0];
    size_t most = 0;
    for (size_t i = 0; i < placement->n_ranks; i++) {
        size_t n = 0;
        for (size_t j = i; j < placement->n_ranks; j++) /* all of them where i is the first */
            n += placement->node[j] == placement->node[i];
        if (n > most) {
            most = n;
            largest = placement->node[i];
        }
    }
    return largest;
}

/* The ranks of other nodes, one from every node in turn: turn[i] is the position of rank i among those of its
 * node. */
struct receiver {
    size_t turn;
    uint32_t node;
    int rank;
};

static int compare_receivers(const void *left, const void *right)
{
    const struct receiver *a = left, *b = right;
    return ORDER(a->turn, b->turn) ?: ORDER(a->node, b->node) ?: ORDER(a->rank, b->rank);
}

/* Leaves n_pairs_max = 0 where the job is on one node. */
static void make_pairs(const struct placement *placement)
{
    size_t n_receivers = 0, n = placement->n_ranks;
    uint32_t node = largest_node(placement);
    struct receiver *receivers = xcalloc(n, sizeof *receivers);
    injection_pairs = xcalloc(n, sizeof *injection_pairs);
    for (size_t i = 0; i < n; i++) {
        struct receiver receiver = {.node = placement->node[i], .rank = (int)i};
        for (size_t j = 0; j < i; j++)
            receiver.turn += placement->node[j] == placement->node[i];
        if (receiver.node != node)
            receivers[n_receivers++] = receiver;
    }
    qsort(receivers, n_receivers, sizeof *receivers, compare_receivers);
    for (size_t i = 0; i < n && n_pairs_max < n_receivers; i++)
        if (placement->node[i] == node) {
            injection_pairs[n_pairs_max] = (struct pair){(int)i, receivers[n_pairs_max].rank};
            n_pairs_max++;
        }
    snprintf(injection_name, sizeof injection_name, "node%u-others", node);
    free(receivers);
}

static void injection_list(const struct measure *measure, struct item_list *list)
{
    make_pairs(&measure->placement);
    if (n_pairs_max == 0)
        fprintf(stderr, MEASURE_NOTE "left_out injection: all %d ranks are on one node\n", measure->size);
    for (size_t n = 1; n <= n_pairs_max; n = level_next_n(n, n_pairs_max))
        for (uint64_t bytes = INJECTION_BYTES_MIN; bytes <= INJECTION_BYTES_MAX; bytes *= 2) {
            uint64_t fit = measure->buffer_bytes / bytes;
            item_add(list, (struct item){.level = LEVEL_INTER_NODE,
                                         .mode = BATCHES_ONE_WAY,
                                         .n = n,
                                         .bytes = bytes,
                                         .repeats = INJECTION_REPEATS_MAX,
                                         .batch = fit < BATCH ? (int)fit : BATCH,
                                         .n_pairs = n,
                                         .pairs = injection_pairs,
                                         .ranks = injection_name});
        }
}

const struct benchmark_program injection_program = {
    .name = "injection",
    .summary = "Processes of a node send to other nodes at the same time: the rate at which a node injects data.",
    .list = injection_list,
    .exchange = batches_exchange,
};

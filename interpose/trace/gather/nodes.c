/* Maps ticks to the node's CLOCK_MONOTONIC. The TSC and CLOCK_MONOTONIC belong to the node, not to the process:
 * the pairs of all processes of a node together give one function. It is linear between pairs, which are at least
 * PAIR_DISTANCE_NS apart, so that the jitter of reading two clocks does not bend it; outside of them it has the
 * mean rate of all. A job that was killed early has pairs of its start only. Where it is ingested on the same host
 * and boot, a pair taken now gives the rate. */
#include "interpose/trace/gather/nodes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"
#include "interpose/spool/clock.h"

#define PAIR_DISTANCE_NS INT64_C(1000000)

static uint32_t find_node(struct trace *trace, const char *host)
{
    for (size_t i = trace->n_nodes; i > 0; i--)
        if (strcmp(trace->nodes[i - 1].host, host) == 0)
            return (uint32_t)(i - 1);
    return TRACE_NONE;
}

/* Adds the links of a leader: only those that were measured, so that a missing link_finalize leaves the other. */
static void add_links(struct trace_node *node, const struct spool_header *header)
{
    const struct spool_clock_link *links[2] = {&header->link_init, &header->link_finalize};
    for (int i = 0; i < 2; i++) {
        bool measured = links[i]->at_ns != 0 && links[i]->at_ns < SPOOL_TIME_LIMIT && links[i]->parent_rank >= 0 &&
                        links[i]->offset_ns > -(int64_t)SPOOL_TIME_LIMIT &&
                        links[i]->offset_ns < (int64_t)SPOOL_TIME_LIMIT && links[i]->rtt_ns < SPOOL_TIME_LIMIT;
        node->links_ns[i] = measured ? (int64_t)links[i]->at_ns : TRACE_NO_TIME;
        node->rtt_ns[i] = measured ? (int64_t)links[i]->rtt_ns : 0;
    }
}

static int compare_node_pairs(const void *left, const void *right)
{
    const struct spool_clock_pair *a = left, *b = right;
    return ORDER(a->ticks, b->ticks);
}

static void thin_pairs(struct trace_node *node)
{
    qsort(node->pairs, node->n_pairs, sizeof *node->pairs, compare_node_pairs);
    size_t kept = 1;
    for (size_t i = 1; i < node->n_pairs; i++) {
        const struct spool_clock_pair *last = &node->pairs[kept - 1], *pair = &node->pairs[i];
        if (pair->ticks <= last->ticks || pair->monotonic_ns <= last->monotonic_ns)
            continue;
        /* The last pair of all replaces its neighbour: the longest base gives the best rate. */
        if ((int64_t)(pair->monotonic_ns - last->monotonic_ns) >= PAIR_DISTANCE_NS || kept == 1)
            node->pairs[kept++] = *pair;
        else if (i + 1 == node->n_pairs)
            node->pairs[kept - 1] = *pair;
    }
    node->n_pairs = kept;
}

/* Returns the longest base of one node's pairs, in ns. */
static int64_t base_of(const struct trace_node *node)
{
    return (int64_t)(node->pairs[node->n_pairs - 1].monotonic_ns - node->pairs[0].monotonic_ns);
}

static double rate_between(const struct spool_clock_pair *first, const struct spool_clock_pair *last)
{
    return (double)(last->monotonic_ns - first->monotonic_ns) / (double)(last->ticks - first->ticks);
}

/* Adds a pair of this moment to a node that has none from the run's end, if it is this machine in the same boot. */
static void add_pair_now(struct trace_node *node)
{
#if defined(__x86_64__)
    char host[256] = "";
    if (!node->ticks || node->n_pairs < 1 || gethostname(host, sizeof host - 1) != 0 || strcmp(host, node->host) != 0)
        return;
    struct spool_clock_pair pair = {.monotonic_ns = spool_clock_node_ns(), .ticks = clock_ticks(SPOOL_CLOCK_TSC)};
    const struct spool_clock_pair *first = &node->pairs[0], *last = &node->pairs[node->n_pairs - 1];
    if (pair.ticks <= last->ticks || pair.monotonic_ns <= last->monotonic_ns)
        return;
    double rate = rate_between(first, &pair);
    /* The machine was booted again, or the base is long enough already. */
    if (node->n_pairs > 1 && (rate > 1.1 * rate_between(first, last) || rate < 0.9 * rate_between(first, last)))
        return;
    ARRAY_ADD(node->pairs, node->n_pairs, pair);
#else
    (void)node;
#endif
}

int nodes_build(const struct spools *spools, struct trace *trace, struct error *error)
{
    trace->world_size = spools->world_size;
    trace->n_spools = spools->n_spools;
    trace->worlds = &spools->worlds;
    trace->processes = xcalloc((size_t)trace->world_size + 1, sizeof *trace->processes);
    for (size_t rank = 0; rank <= (size_t)trace->world_size; rank++) {
        trace->processes[rank].node = TRACE_NONE;
        trace->processes[rank].placed = TRACE_NONE;
        trace->processes[rank].place = (struct trace_place){-1, -1, -1, -1};
        trace->processes[rank].processor = -1;
    }
    for (size_t i = 0; i < spools->n_spools; i++) {
        struct spool *spool = &spools->spools[i];
        struct trace_process *process = &trace->processes[spool->header.rank];
        uint32_t found = find_node(trace, spool->header.host);
        if (found == TRACE_NONE) {
            trace_grow(&trace->nodes, trace->n_nodes, sizeof *trace->nodes);
            found = (uint32_t)trace->n_nodes++;
            trace->nodes[found] = (struct trace_node){.host = spool->header.host,
                                                      .leader = TRACE_NONE,
                                                      .ticks = spool->header.clock_source == SPOOL_CLOCK_TSC,
                                                      .kernel_key = spool->header.kernel_key,
                                                      .machine = found,
                                                      .links_ns = {TRACE_NO_TIME, TRACE_NO_TIME},
                                                      .uncertainty_ns = -1};
        }
        struct trace_node *node = &trace->nodes[found];
        if (node->ticks != (spool->header.clock_source == SPOOL_CLOCK_TSC))
            return error_set(error, "%s: another clock source than the other processes of host '%s' have", spool->path,
                             node->host);
        for (size_t k = 0; node->ticks && k < spool->n_pairs; k++)
            ARRAY_ADD(node->pairs, node->n_pairs, spool->pairs[k]);
        if (spool->header.node_leader == spool->header.rank && node->leader == TRACE_NONE) {
            node->leader = (uint32_t)spool->header.rank;
            add_links(node, &spool->header);
        }
        process->spool = spool;
        trace->apart |= spool->header.apart == 1;
        process->node = found;
        process->ahead_ns = spool_ahead_ns(&spool->header);
    }
    for (size_t i = 0; i < spools->n_begun; i++)
        if (spools->begun[i].rank >= 0)
            trace->processes[spools->begun[i].rank].at_once = trace->processes[spools->begun[i].rank].spool == NULL;
    for (size_t i = 0; i < trace->n_nodes; i++)
        if (trace->nodes[i].ticks) {
            thin_pairs(&trace->nodes[i]);
            if (base_of(&trace->nodes[i]) < 100 * PAIR_DISTANCE_NS)
                add_pair_now(&trace->nodes[i]);
        }
    return 0;
}

/* Keeps absurd times of damaged files from overflowing what is computed with them. */
static int64_t clamp_ns(double ns)
{
    double limit = (double)SPOOL_TIME_LIMIT;
    return (int64_t)(ns > limit ? limit : ns < -limit ? -limit : ns);
}

int64_t clock_ns(const struct trace_node *node, const struct trace_process *process, uint64_t ticks, size_t *hint)
{
    if (!node->ticks)
        return (ticks > 2 * SPOOL_TIME_LIMIT ? (int64_t)(2 * SPOOL_TIME_LIMIT) : (int64_t)ticks) - process->ahead_ns;
    const struct spool_clock_pair *pairs = node->pairs;
    size_t last = node->n_pairs - 1;
    size_t at = *hint < node->n_pairs ? *hint : 0;
    while (at > 0 && ticks < pairs[at].ticks)
        at--;
    while (at < last && ticks >= pairs[at + 1].ticks)
        at++;
    *hint = at;
    double rate = 1;
    if (at < last && ticks >= pairs[at].ticks)
        rate = rate_between(&pairs[at], &pairs[at + 1]);
    else if (last > 0)
        rate = rate_between(&pairs[0], &pairs[last]);
    double since = ticks >= pairs[at].ticks ? (double)(ticks - pairs[at].ticks) : -(double)(pairs[at].ticks - ticks);
    return (int64_t)pairs[at].monotonic_ns + clamp_ns(since * rate);
}

int64_t clock_run_ns(const struct trace_node *node, int64_t node_ns)
{
    return node_ns + node->offset_ns + (int64_t)((double)(node_ns - node->base_ns) * node->drift);
}

int64_t ticks_run_ns(const struct trace *trace, const struct trace_process *process, uint64_t ticks, size_t *hint)
{
    const struct trace_node *node = &trace->nodes[process->node];
    return clock_run_ns(node, clock_ns(node, process, ticks, hint));
}

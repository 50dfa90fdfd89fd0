/* Puts the whole run on one clock, that of rank 0.
 *
 * Each node's leader measured its offset against its parent's leader at MPI_Init and MPI_Finalize. Along the tree of
 * parents these add up; in between they are linear (draw_line), and constant where only one was measured. Nodes without
 * a link (a killed job has none of the end, a lost leader none at all) are put in the middle of what the messages
 * allow: no receive completes before its send starts, so of two nodes A and B
 *
 *     max (send on A - completion on B)  <=  offset(B) - offset(A)  <=  min (completion on A - send on B).
 *
 * The same inequality then corrects all nodes: a node that still receives before it was sent to is moved later,
 * repeatedly (Bellman and Ford's iteration over difference constraints). Then all nodes are moved back together so that
 * rank 0's node stays. Constraints that still contradict each other after as many passes as nodes (a wrong match) are
 * left. Before that nodes that were not measured twice get the drift that messages show (clock_drift.h). */
#include "interpose/trace/clock/clock_align.h"

#include <stdlib.h>

#include "interpose/trace/clock/clock_drift.h"
#include "interpose/trace/clock/clock_edges.h"
#include "interpose/trace/gather/nodes.h"
#include "interpose/trace/stream/stream.h"
#include "share/base/memory.h"

/* Returns the offset of a node against rank 0's at a time of its own, along its parents, and how uncertain it is;
 * *known becomes false where a link is missing. */
static int64_t chain_offset(const struct trace *trace, uint32_t node, int link, uint32_t root, bool *known,
                            double *uncertainty_ns)
{
    int64_t sum = 0;
    *uncertainty_ns = 1;
    for (size_t depth = 0; node != root; depth++) {
        const struct trace_node *from = &trace->nodes[node];
        if (from->leader == TRACE_NONE || depth > trace->n_nodes)
            goto unknown;
        const struct spool_header *header = &trace->processes[from->leader].spool->header;
        int use = from->links_ns[link] != TRACE_NO_TIME ? link : 1 - link;
        const struct spool_clock_link *measured = use == 0 ? &header->link_init : &header->link_finalize;
        if (from->links_ns[use] == TRACE_NO_TIME || measured->parent_rank >= trace->world_size)
            goto unknown;
        node = trace->processes[measured->parent_rank].node;
        if (node == TRACE_NONE || __builtin_add_overflow(sum, measured->offset_ns, &sum))
            goto unknown;
        *uncertainty_ns += (double)from->rtt_ns[use] / 2;
    }
    *known = true;
    return sum;
unknown:
    *known = false;
    return 0;
}

/* Draws the line through both measurements, each as good as its round trip was short. On a busy machine one of them may
 * be off by milliseconds, and the slope between them would then be no drift of a clock. So the slope is estimated
 * together with what is known of clocks beforehand: they drift by CLOCK_DRIFT_PRIOR. */
static void draw_line(struct trace_node *node, double apart_ns, double first_ns, double last_ns)
{
    double duration_ns = (double)(node->links_ns[1] - node->links_ns[0]);
    /* The bounds are hard: true offsets are within half a round trip. */
    double drift = clock_drift_of(apart_ns, first_ns, last_ns, duration_ns);
    double weight = first_ns * first_ns / (first_ns * first_ns + last_ns * last_ns); /* weight of the last measurement
                                                                                      */
    /* A crystal is off by less than this; a larger drift comes from a suspended machine or from damage. */
    if (!(drift > -1e-2 && drift < 1e-2))
        return;
    node->drift = drift;
    node->offset_ns += (int64_t)(weight * (apart_ns - drift * duration_ns));
}

static void apply_links(struct trace *trace, uint32_t root)
{
    for (uint32_t i = 0; i < trace->n_nodes; i++) {
        struct trace_node *node = &trace->nodes[i];
        bool known;
        double first_ns, last_ns;
        int64_t first = chain_offset(trace, i, 0, root, &known, &first_ns);
        node->linked = known;
        if (!known || i == root)
            continue;
        node->offset_ns = first;
        int64_t begin = node->links_ns[0], end = node->links_ns[1];
        node->base_ns = begin != TRACE_NO_TIME ? begin : end;
        if (begin != TRACE_NO_TIME && end != TRACE_NO_TIME && end > begin) {
            int64_t last = chain_offset(trace, i, 1, root, &known, &last_ns);
            draw_line(node, (double)(last - first), first_ns, last_ns);
        }
    }
}

/* Places one node without link beside those that have a place; returns false if no message leads to it. */
static bool place_by_messages(struct trace *trace, struct clock_edges *edges, uint32_t unplaced)
{
    int64_t lower = INT64_MIN, upper = INT64_MAX;
    for (size_t i = 0; i < edges->n; i++) {
        const struct clock_edge *edge = &edges->edges[i];
        if (edge->to == unplaced && trace->nodes[edge->from].linked && edge->at_least_ns > lower)
            lower = edge->at_least_ns;
        if (edge->from == unplaced && trace->nodes[edge->to].linked && -edge->at_least_ns < upper)
            upper = -edge->at_least_ns;
    }
    if (lower == INT64_MIN && upper == INT64_MAX)
        return false;
    struct trace_node *node = &trace->nodes[unplaced];
    int64_t shift = lower == INT64_MIN ? upper : upper == INT64_MAX ? lower : lower + (upper - lower) / 2;
    node->uncertainty_ns = lower != INT64_MIN && upper != INT64_MAX ? llabs(upper - lower) / 2 : -1;
    node->offset_ns += shift;
    node->shift_ns += shift;
    node->linked = true;
    for (size_t i = 0; i < edges->n; i++) {
        if (edges->edges[i].to == unplaced)
            edges->edges[i].at_least_ns -= shift;
        if (edges->edges[i].from == unplaced)
            edges->edges[i].at_least_ns += shift;
    }
    return true;
}

/* Moves nodes later until no receive completes before its send starts, then moves all back by as much as rank 0's node
 * moved. */
static void tighten(struct trace *trace, const struct clock_edges *edges, uint32_t root)
{
    int64_t *later = xcalloc(trace->n_nodes, sizeof *later);
    bool changed = true;
    for (size_t pass = 0; changed && pass < trace->n_nodes; pass++) {
        changed = false;
        for (size_t i = 0; i < edges->n; i++) {
            const struct clock_edge *edge = &edges->edges[i];
            int64_t needed = later[edge->from] + edge->at_least_ns;
            if (needed > later[edge->to]) {
                later[edge->to] = needed;
                changed = true;
            }
        }
    }
    for (size_t i = 0; i < trace->n_nodes; i++) {
        trace->nodes[i].offset_ns += later[i] - later[root];
        trace->nodes[i].shift_ns += later[i] - later[root];
    }
    free(later);
}

/* Shifts the offsets so that the run starts at zero, and with them all times that are known already. */
static void shift_times(struct trace *trace)
{
    int64_t start = INT64_MAX, end = 0;
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        struct trace_process *process = &trace->processes[rank];
        if (process->spool == NULL)
            continue;
        process->begin_ns = clock_run_ns(&trace->nodes[process->node], process->begin_ns);
        start = process->begin_ns < start ? process->begin_ns : start;
    }
    for (size_t i = 0; i < trace->n_nodes; i++)
        trace->nodes[i].offset_ns -= start;
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        struct trace_process *process = &trace->processes[rank];
        if (process->spool == NULL)
            continue;
        process->begin_ns -= start;
        process->end_ns = clock_run_ns(&trace->nodes[process->node], process->end_ns);
        end = process->end_ns > end ? process->end_ns : end;
    }
    trace->duration_ns = end;
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct trace_node *node = &trace->nodes[trace->processes[trace->collectives[i].rank].node];
        trace->collectives[i].begin_ns = clock_run_ns(node, trace->collectives[i].begin_ns);
        trace->collectives[i].call_end_ns = clock_run_ns(node, trace->collectives[i].call_end_ns);
        if (trace->collectives[i].end_ns != TRACE_NO_TIME)
            trace->collectives[i].end_ns = clock_run_ns(node, trace->collectives[i].end_ns);
    }
}

/* Places the nodes without link, gives a drift to those that were not measured twice, and moves all as far as needed.
 */
static void align_by_messages(struct trace *trace, uint32_t root)
{
    struct clock_edges edges = {0};
    stream_messages(trace, clock_edges_add, &edges);
    clock_edges_sort(&edges);
    for (bool placed = true; placed;) {
        placed = false;
        for (uint32_t i = 0; i < trace->n_nodes; i++)
            if (!trace->nodes[i].linked && place_by_messages(trace, &edges, i))
                placed = true;
    }
    if (clock_drift_find(trace, root, edges.first_ns, edges.last_ns)) {
        clock_edges_release(&edges);
        stream_messages(trace, clock_edges_add, &edges);
        clock_edges_sort(&edges);
    }
    tighten(trace, &edges, root);
    clock_edges_release(&edges);
}

void clock_align(struct trace *trace)
{
    uint32_t root = 0; /* the node of rank 0 if that left a spool, else of the lowest rank that did */
    for (int32_t rank = 0; rank < trace->world_size; rank++)
        if (trace->processes[rank].node != TRACE_NONE) {
            root = trace->processes[rank].node;
            break;
        }
    if (trace->n_nodes > 1) {
        apply_links(trace, root);
        align_by_messages(trace, root);
    }
    shift_times(trace);
}

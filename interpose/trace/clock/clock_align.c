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
 * left. Before that nodes that were not measured twice get the drift that messages show (clock_drift_find). */
#include "interpose/trace/clock/clock_align.h"

#include <stdlib.h>

#include "interpose/trace/records/records.h"
#include "interpose/trace/stream/stream.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "interpose/trace/state/trace.h"
#include "share/base/map.h"
#include "share/base/order.h"

/* What the messages from one node to another say: offset(to) - offset(from) >= at_least. Only the strongest of each
 * ordered pair of nodes is kept, however many messages there are. */
struct clock_edge {
    uint32_t from;
    uint32_t to;
    int64_t at_least_ns;
};

struct clock_edges {
    struct clock_edge *edges;
    size_t n;
    struct map index;
    int64_t first_ns, last_ns; /* posts of the first and last send; both 0 without an edge */
};

/* Takes one more message, under the present offsets. For stream_messages. */
static void clock_edges_add(void *context, const struct trace *trace, const struct trace_operation *send,
                            const struct trace_operation *receive)
{
    struct clock_edges *edges = context;
    uint32_t from = trace->processes[send->rank].node, to = trace->processes[receive->rank].node;
    if (from == to || receive->complete_ns == TRACE_NO_TIME)
        return;
    int64_t at_least = send->post_ns - receive->complete_ns;
    uint32_t index = map_number(&edges->index, (struct map_key){from, to, 0}, edges->n);
    edges->first_ns = edges->n == 0 || send->post_ns < edges->first_ns ? send->post_ns : edges->first_ns;
    edges->last_ns = edges->n == 0 || send->post_ns > edges->last_ns ? send->post_ns : edges->last_ns;
    if (index == edges->n)
        ARRAY_ADD(edges->edges, edges->n, (struct clock_edge){from, to, at_least});
    else if (edges->edges[index].at_least_ns < at_least)
        edges->edges[index].at_least_ns = at_least;
}

static int compare_edges(const void *left, const void *right)
{
    const struct clock_edge *a = left, *b = right;
    return ORDER(a->from, b->from) ?: ORDER(a->to, b->to);
}

/* Sorts by from, then to: where constraints contradict each other the order decides, and must not depend on how they
 * were read. */
static void clock_edges_sort(struct clock_edges *edges)
{
    if (edges->n > 1)
        qsort(edges->edges, edges->n, sizeof *edges->edges, compare_edges);
}

static void clock_edges_release(struct clock_edges *edges)
{
    map_release(&edges->index);
    free(edges->edges);
    *edges = (struct clock_edges){0};
}

/* A clock that was measured at the start alone drifts away from rank 0's by microseconds in a second, and by
 * milliseconds in a minute; no constant offset then lets all receives end behind the begins of their sends. In the
 * first and in the last third of the run the messages bound each node's offset against rank 0's from both sides,
 * directly or by way of other nodes. What the middle of these bounds moves by from one third to the other is the drift.
 * Within a third the clock drifts as well, so that it is done again with what is left. */

/* Drift between two crystals as they are sold, ns per ns. */
#define CLOCK_DRIFT_PRIOR 50e-6

enum { PASSES = 3, FIRST = 0, LAST = 1, N_THIRDS = 2 };

struct thirds {
    struct clock_edges edges[N_THIRDS];
    int64_t first_end_ns, last_begin_ns;
};

/* Bounds the offsets of all nodes against the root's, as far as they are known beyond their present ones. */
struct bounds {
    int64_t *least_ns, *most_ns; /* [n_nodes]; INT64_MIN, INT64_MAX: not bounded */
};

/* Returns the drift that a difference of apart_ns over duration_ns shows, whose ends are known to half a width of
 * first_ns and last_ns: the estimate together with what is known of clocks beforehand, within what the widths allow. */
static double clock_drift_of(double apart_ns, double first_ns, double last_ns, double duration_ns)
{
    double variance = (first_ns * first_ns + last_ns * last_ns) / (duration_ns * duration_ns);
    double prior = CLOCK_DRIFT_PRIOR * CLOCK_DRIFT_PRIOR;
    double drift = apart_ns / duration_ns * (prior / (prior + variance));
    double least = (apart_ns - first_ns - last_ns) / duration_ns, most = (apart_ns + first_ns + last_ns) / duration_ns;
    return drift < least ? least : drift > most ? most : drift;
}

static void add_message(void *context, const struct trace *trace, const struct trace_operation *send,
                        const struct trace_operation *receive)
{
    struct thirds *thirds = context;
    if (send->post_ns <= thirds->first_end_ns)
        clock_edges_add(&thirds->edges[FIRST], trace, send, receive);
    if (send->post_ns >= thirds->last_begin_ns)
        clock_edges_add(&thirds->edges[LAST], trace, send, receive);
}

static bool is_measured_twice(const struct trace_node *node)
{
    return node->links_ns[0] != TRACE_NO_TIME && node->links_ns[1] != TRACE_NO_TIME;
}

/* Goes along the edges from the root, as Bellman and Ford do, or against them. */
static void bound(const struct trace *trace, const struct clock_edges *edges, uint32_t root, struct bounds *bounds)
{
    bool changed = true;
    for (size_t i = 0; i < trace->n_nodes; i++) {
        bounds->least_ns[i] = i == root ? 0 : INT64_MIN;
        bounds->most_ns[i] = i == root ? 0 : INT64_MAX;
    }
    for (size_t pass = 0; changed && pass < trace->n_nodes; pass++) {
        changed = false;
        for (size_t i = 0; i < edges->n; i++) {
            const struct clock_edge *edge = &edges->edges[i];
            int64_t least = bounds->least_ns[edge->from], most = bounds->most_ns[edge->to], sum;
            if (least != INT64_MIN && !__builtin_add_overflow(least, edge->at_least_ns, &sum) &&
                sum > bounds->least_ns[edge->to] && edge->to != root) {
                bounds->least_ns[edge->to] = sum;
                changed = true;
            }
            if (most != INT64_MAX && !__builtin_sub_overflow(most, edge->at_least_ns, &sum) &&
                sum < bounds->most_ns[edge->from] && edge->from != root) {
                bounds->most_ns[edge->from] = sum;
                changed = true;
            }
        }
    }
}

/* Gives a node the line through the middles of its bounds, in the middles of the thirds; one that was measured stays
 * where it was then, if the line leaves room. Returns whether it has bounds on both sides in both thirds. */
static bool draw(struct trace_node *node, const struct bounds *bounds, size_t number, double first_ns, double last_ns)
{
    double middle_ns[N_THIRDS], half_ns[N_THIRDS];
    for (int i = 0; i < N_THIRDS; i++) {
        int64_t least = bounds[i].least_ns[number], most = bounds[i].most_ns[number];
        if (least == INT64_MIN || most == INT64_MAX)
            return false;
        middle_ns[i] = ((double)least + (double)most) / 2;
        half_ns[i] = most > least ? ((double)most - (double)least) / 2 : 1;
    }
    double drift =
        clock_drift_of(middle_ns[LAST] - middle_ns[FIRST], half_ns[FIRST], half_ns[LAST], last_ns - first_ns);
    if (!(drift > -1e-2 && drift < 1e-2))
        return false;
    if (node->links_ns[0] == TRACE_NO_TIME && node->links_ns[1] == TRACE_NO_TIME && !(node->drift < 0) &&
        !(node->drift > 0))
        node->base_ns = (int64_t)first_ns - node->offset_ns;
    double base_ns = (double)(node->base_ns + node->offset_ns);
    double line_ns = (middle_ns[FIRST] + middle_ns[LAST]) / 2 + drift * (base_ns - (first_ns + last_ns) / 2);
    double room_ns = half_ns[FIRST] < half_ns[LAST] ? half_ns[FIRST] : half_ns[LAST];
    double shift_ns = line_ns > room_ns ? line_ns - room_ns : line_ns < -room_ns ? line_ns + room_ns : 0;
    node->drift += drift;
    node->offset_ns += (int64_t)shift_ns;
    node->shift_ns += (int64_t)shift_ns;
    return true;
}

/* Does it once. Returns whether a node got a drift. */
static bool find_once(struct trace *trace, size_t jobs, uint32_t root, int64_t first_ns, int64_t last_ns,
                      struct bounds *bounds)
{
    bool changed = false;
    int64_t third_ns = (last_ns - first_ns) / 3;
    struct thirds thirds = {.first_end_ns = first_ns + third_ns, .last_begin_ns = last_ns - third_ns};
    stream_messages(trace, jobs, add_message, &thirds);
    for (int i = 0; i < N_THIRDS; i++) {
        clock_edges_sort(&thirds.edges[i]);
        bound(trace, &thirds.edges[i], root, &bounds[i]);
        clock_edges_release(&thirds.edges[i]);
    }
    double half_ns = (double)third_ns / 2;
    for (size_t i = 0; i < trace->n_nodes; i++)
        if (i != root && !is_measured_twice(&trace->nodes[i]))
            changed |= draw(&trace->nodes[i], bounds, i, (double)first_ns + half_ns, (double)last_ns - half_ns);
    return changed;
}

/* Gives every such node the drift that the messages of the run's first and last third show, sent from first_ns to
 * last_ns. All nodes with messages have an offset already. Returns whether any got one. */
static bool clock_drift_find(struct trace *trace, size_t jobs, uint32_t root, int64_t first_ns, int64_t last_ns)
{
    bool wanted = false, changed = false;
    for (size_t i = 0; i < trace->n_nodes; i++)
        wanted = wanted || (i != root && !is_measured_twice(&trace->nodes[i]));
    if (!wanted || last_ns - first_ns < 1000000) /* drift would not show */
        return false;
    int64_t *room = xcalloc(2 * N_THIRDS * trace->n_nodes, sizeof *room);
    struct bounds bounds[N_THIRDS];
    for (size_t i = 0; i < N_THIRDS; i++)
        bounds[i] = (struct bounds){room + 2 * i * trace->n_nodes, room + (2 * i + 1) * trace->n_nodes};
    for (int pass = 0; pass < PASSES; pass++)
        changed |= find_once(trace, jobs, root, first_ns, last_ns, bounds);
    free(room);
    return changed;
}

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
    for (size_t i = 0; i < trace->n_calls; i++) {
        struct trace_call *call = &trace->calls[i];
        call->begin_ns = trace_run_ns(trace, call->rank, call->begin_ns);
        call->call_end_ns = trace_run_ns(trace, call->rank, call->call_end_ns);
        call->end_ns = trace_run_ns(trace, call->rank, call->end_ns);
    }
}

/* Places the nodes without link, gives a drift to those that were not measured twice, and moves all as far as needed.
 */
static void align_by_messages(struct trace *trace, size_t jobs, uint32_t root)
{
    struct clock_edges edges = {0};
    stream_messages(trace, jobs, clock_edges_add, &edges);
    clock_edges_sort(&edges);
    for (bool placed = true; placed;) {
        placed = false;
        for (uint32_t i = 0; i < trace->n_nodes; i++)
            if (!trace->nodes[i].linked && place_by_messages(trace, &edges, i))
                placed = true;
    }
    if (clock_drift_find(trace, jobs, root, edges.first_ns, edges.last_ns)) {
        clock_edges_release(&edges);
        stream_messages(trace, jobs, clock_edges_add, &edges);
        clock_edges_sort(&edges);
    }
    tighten(trace, &edges, root);
    clock_edges_release(&edges);
}

void clock_align(struct trace *trace, size_t jobs)
{
    uint32_t root = 0; /* the node of rank 0 if that left a spool, else of the lowest rank that did */
    for (int32_t rank = 0; rank < trace->world_size; rank++)
        if (trace->processes[rank].node != TRACE_NONE) {
            root = trace->processes[rank].node;
            break;
        }
    if (trace->n_nodes > 1) {
        apply_links(trace, root);
        align_by_messages(trace, jobs, root);
    }
    shift_times(trace);
}

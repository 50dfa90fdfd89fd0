/* A clock that was measured at the start alone drifts away from rank 0's by microseconds in a second, and by
 * milliseconds in a minute; no constant offset then lets all receives end behind the begins of their sends. In the
 * first and in the last third of the run the messages bound each node's offset against rank 0's from both sides,
 * directly or by way of other nodes. What the middle of these bounds moves by from one third to the other is the drift.
 * Within a third the clock drifts as well, so that it is done again with what is left. */
#include "interpose/trace/clock/clock_drift.h"

#include <stdlib.h>

#include "interpose/trace/clock/clock_edges.h"
#include "interpose/trace/stream/stream.h"
#include "share/base/memory.h"

enum { PASSES = 3, FIRST = 0, LAST = 1, N_THIRDS = 2 };

struct thirds {
    struct clock_edges edges[N_THIRDS];
    int64_t first_end_ns, last_begin_ns;
};

/* Bounds the offsets of all nodes against the root's, as far as they are known beyond their present ones. */
struct bounds {
    int64_t *least_ns, *most_ns; /* [n_nodes]; INT64_MIN, INT64_MAX: not bounded */
};

double clock_drift_of(double apart_ns, double first_ns, double last_ns, double duration_ns)
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
static bool find_once(struct trace *trace, uint32_t root, int64_t first_ns, int64_t last_ns, struct bounds *bounds)
{
    bool changed = false;
    int64_t third_ns = (last_ns - first_ns) / 3;
    struct thirds thirds = {.first_end_ns = first_ns + third_ns, .last_begin_ns = last_ns - third_ns};
    stream_messages(trace, add_message, &thirds);
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

bool clock_drift_find(struct trace *trace, uint32_t root, int64_t first_ns, int64_t last_ns)
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
        changed |= find_once(trace, root, first_ns, last_ns, bounds);
    free(room);
    return changed;
}

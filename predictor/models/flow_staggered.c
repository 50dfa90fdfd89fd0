/* flow-staggered is flow with messages that start when they were posted.
 *
 * The model is ours. It joins the flow staircase of flow.c with the starts of staggered.c. For each direction l of each
 * node's NIC:
 *
 *   F_p(t)  flows of protocol p that have begun and are not through on l     link_run.active
 *   n(t)    ranks of the node that have one                                  link_run.n_ranks
 *   dw/dt   1 / sum over p of F_p(t) / BW_p(n(t))                            bytes_per_s
 *   u_l(k, x)  when x bytes of message k are through on l                    -
 *   d_k     max(u_out(k, b_k), u_in(k, b_k)): it is delivered                moves_delivered_s
 *   s_k     max(u_out(k, b_k), u_in(k, b_k - B)): the send is over           moves_sent_s
 *
 *   a_k     when message k begins to move (moves.h)                          moves_begin_s    s
 *   b_k     its bytes                                                        pattern.bytes    B
 *   w       bytes that a flow, open since the link fell idle, has got        link_run.served  B
 *   B       bytes that the transport takes (the machine's `buffer`)          buffer_bytes     B
 *   BW_p    bandwidth of n processes between nodes                           bandwidth_steps  B/s
 *
 * Unlike in flow, what the transport takes counts behind the sender's NIC alone: before it can lie in the network or
 * with the receiver it must have left the node. A short or eager send is over at once. Messages within a node follow
 * staggered, and moves.h makes a rank's time of the moves. With equal starts d_k are those of flow, with B = 0 the s_k
 * of rendezvous messages (and of all, if there is one protocol), too. O(M log M).
 *
 * Limits: those of flow (the two NICs of a message do not influence each other) and of staggered (posts are taken as
 * they are). Papers are named as in share/doc/MODELS.md. */
#include <math.h>
#include <stdlib.h>

#include "predictor/models/models.h"
#include "predictor/models/staggered.h"
#include "predictor/models/staircase.h"
#include "predictor/engine/underway.h"

/* Is in messages: what an event needs of its message lies anywhere, and waiting for it would be half of the work. */
enum { LOOK_AHEAD = 12 };

/* Describes one direction of one NIC. Marks of a flow are bytes on the scale of `served`: at one mark all of it is
 * through; at the other, B before, its send is over. The latter is kept only where they differ. */
struct link_run {
    struct moves *moves;
    struct bandwidth_steps *steps;
    double taken_bytes;  /* B */
    double buffer_bytes; /* what of it counts in this direction */
    enum direction direction;
    struct arrivals arrivals; /* a queue is a node */
    double served;            /* bytes that a flow has got that has been open all the time */
    struct underway through, sent;
    size_t active[MAX_CLASSES];
    size_t n_ranks;
    uint32_t *open_of; /* [n_ranks] open flows of a rank; 0 before and after */
};

static uint32_t end_of(const struct link_run *run, size_t message)
{
    const struct pattern *pattern = run->moves->traffic->pattern;
    return run->direction == OUTGOING ? pattern->src[message] : pattern->dst[message];
}

/* Has no branch, as nobody can guess which NIC is the later one. */
static void later(double *at_s, double now_s)
{
    double before_s = *at_s;
    *at_s = before_s > now_s ? before_s : now_s;
}

static bool idle(const struct link_run *run)
{
    return underway_n(&run->through) + underway_n(&run->sent) == 0;
}

/* Opens the flows that begin with the arrival i; returns their end. */
static size_t open_flows(struct link_run *run, size_t i)
{
    const struct arrivals *arrivals = &run->arrivals;
    bool first = idle(run);
    size_t end = arrivals_alike(arrivals, i, arrivals->from + arrivals->n);
    while (i < end && !(arrival_bytes(arrivals, i) > 0))
        i++;
    if (first) {
        run->served = 0;
        run->through.next = i;
        run->through.end = run->sent.next = run->sent.end = end;
    }
    for (; i < end; i++) {
        uint32_t message = arrival_message(arrivals, i);
        double bytes = arrival_bytes(arrivals, i);
        bool marks_sent = run->buffer_bytes > 0 && bytes > run->buffer_bytes;
        run->active[run->moves->traffic->class_of[message]]++;
        run->n_ranks += run->open_of[end_of(run, message)]++ == 0;
        if (first) {
            if (marks_sent && run->sent.next == end)
                run->sent.next = i;
            continue;
        }
        heap_push(&run->through.late, run->served + bytes, (uint32_t)i);
        if (marks_sent)
            heap_push(&run->sent.late, run->served + (bytes - run->buffer_bytes), (uint32_t)i);
    }
    return end;
}

/* Says whether the next mark is one of sends that are over. */
static bool sent_first(const struct link_run *run)
{
    return underway_n(&run->sent) > 0 &&
           (underway_n(&run->through) == 0 ||
            underway_mark(&run->sent, &run->arrivals) < underway_mark(&run->through, &run->arrivals));
}

static void reach_mark(struct link_run *run, bool sent, double now_s)
{
    const struct traffic *traffic = run->moves->traffic;
    size_t ahead = run->through.next + LOOK_AHEAD;
    if (ahead < run->through.end) {
        uint32_t message = arrival_message(&run->arrivals, ahead);
        __builtin_prefetch(moves_delivered_s(run->moves, message), 1);
        __builtin_prefetch(&traffic->class_of[message]);
        __builtin_prefetch(run->direction == OUTGOING ? &traffic->pattern->src[message]
                                                      : &traffic->pattern->dst[message]);
    }
    struct underway *underway = sent ? &run->sent : &run->through;
    run->served = underway_mark(underway, &run->arrivals);
    uint32_t message = arrival_message(&run->arrivals, underway_take(underway, &run->arrivals));
    if (sent) {
        later(moves_sent_s(run->moves, message), now_s);
        return;
    }
    later(moves_delivered_s(run->moves, message), now_s);
    later(moves_sent_s(run->moves, message), run->buffer_bytes > 0 ? -INFINITY : now_s);
    run->active[run->moves->traffic->class_of[message]]--;
    run->n_ranks -= --run->open_of[end_of(run, message)] == 0;
}

static double bytes_per_s(const struct link_run *run)
{
    double s_per_byte = 0;
    for (size_t c = 0; c < run->steps->n_classes; c++)
        if (run->active[c] > 0)
            s_per_byte += (double)run->active[c] / bandwidth_steps_at(run->steps, c, run->n_ranks);
    return 1 / s_per_byte;
}

static void run_link(struct link_run *run)
{
    const struct arrivals *arrivals = &run->arrivals;
    double now_s = 0;
    for (size_t next = 0; next < arrivals->n || !idle(run);) {
        double at_s = INFINITY, rate = 0;
        bool sent = sent_first(run);
        if (!idle(run)) {
            rate = bytes_per_s(run);
            at_s = now_s + fmax(underway_mark(sent ? &run->sent : &run->through, arrivals) - run->served, 0) / rate;
        }
        double begin_s = next < arrivals->n ? arrival_begin_s(arrivals, next) : INFINITY;
        if (next == arrivals->n || !(idle(run) || begin_s <= at_s)) {
            now_s = at_s;
            reach_mark(run, sent, now_s);
            continue;
        }
        run->served += (begin_s - now_s) * rate;
        now_s = begin_s;
        next = open_flows(run, next);
    }
}

/* Makes room for the heaps. Returns 0, or -1 without memory. */
static int late_init(struct link_run *run, size_t most)
{
    run->through = (struct underway){.next = 0};
    run->sent = (struct underway){.less = run->buffer_bytes};
    if (!run->arrivals.timed)
        return 0;
    run->through.late.entries = malloc((most + 1) * sizeof *run->through.late.entries);
    if (run->buffer_bytes > 0)
        run->sent.late.entries = malloc((most + 1) * sizeof *run->sent.late.entries);
    return run->through.late.entries != NULL && (run->sent.late.entries != NULL || !(run->buffer_bytes > 0)) ? 0 : -1;
}

/* Moves one direction of all NICs. Returns 0, or -1 without memory. */
static int move_direction(const struct grouping *nodes, enum direction direction, struct link_run *run)
{
    if (arrivals_init(&run->arrivals, run->moves->traffic, LEVEL_BIT(LEVEL_INTER_NODE), direction, nodes->of,
                      nodes->n_groups) != 0)
        return -1;
    run->direction = direction;
    run->buffer_bytes = direction == INCOMING ? run->taken_bytes : 0;
    int result = late_init(run, size_order_largest(&run->arrivals.order));
    for (size_t node = 0; result == 0 && node < nodes->n_groups; node++) {
        result = arrivals_select(&run->arrivals, node, node + 1);
        if (result == 0)
            run_link(run);
    }
    free(run->through.late.entries);
    free(run->sent.late.entries);
    arrivals_release(&run->arrivals);
    return result;
}

/* Moves the messages between nodes. Returns 0, or -1 without memory. */
static int move_between_nodes(const struct traffic *traffic, const struct placement *placement, double buffer_bytes,
                              struct moves *moves, size_t *extrapolated)
{
    struct grouping nodes = {0};
    struct bandwidth_steps steps = {0};
    struct link_run run = {.moves = moves, .steps = &steps, .taken_bytes = buffer_bytes};
    run.open_of = calloc(traffic->n_ranks + 1, sizeof *run.open_of);
    int result = -1;
    if (run.open_of != NULL && grouping_init(&nodes, placement, GROUP_BY_NODE) == 0 &&
        bandwidth_steps_init(&steps, traffic, nodes.largest) == 0 && move_direction(&nodes, INCOMING, &run) == 0)
        result = move_direction(&nodes, OUTGOING, &run);
    *extrapolated += bandwidth_steps_extrapolated(&steps);
    bandwidth_steps_release(&steps);
    grouping_release(&nodes);
    free(run.open_of);
    return result;
}

static int flow_staggered_predict(const struct model_input *input, struct prediction *prediction, struct error *error)
{
    struct moves moves = {0};
    const struct traffic *traffic = input->traffic;
    double buffer_bytes = machine_value(input->machine, LEVEL_INTER_NODE, PROTOCOL_ANY, "buffer", 0);
    int result = 0;
    if (moves_init(&moves, traffic, true) != 0 ||
        move_between_nodes(traffic, input->placement, buffer_bytes, &moves, &prediction->extrapolated) != 0 ||
        staggered_move(traffic, input->placement, LEVEL_BIT(LEVEL_INTRA_SOCKET) | LEVEL_BIT(LEVEL_INTER_SOCKET),
                       GROUP_BY_SOCKET, &moves, &prediction->extrapolated) != 0 ||
        moves_add(&moves, input->options->latency, prediction) != 0)
        result = error_set(error, "no memory for the events of %zu messages", traffic->pattern->n_messages);
    moves_release(&moves);
    return result;
}

const struct model flow_staggered_model = {.name = "flow-staggered",
                                           .summary = "flow, messages start when they were posted",
                                           .latency_side = true,
                                           .post_times = true,
                                           .predict = flow_staggered_predict};

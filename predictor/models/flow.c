/* flow: between nodes both NICs limit, every flow gets an even share, and a send is complete when the transport has it.
 *
 * Ours; it changes the staircase (A. Thune, S.-A. Reinemo, T. Skeie and X. Cai, IEEE TPDS 34(5), 2023, equations 5-9:
 * T) where transports buffer (TCP) and links are full-duplex: there a sender's NIC is a limit as the receiver's is,
 * fairness between nodes is per flow and not per process, and a send completes when the transport has taken the data,
 * not when it is delivered. For each direction l of each node's NIC, over the messages that cross it:
 *
 *   u_l(x) = integral from 0 to x of sum over protocols p of F_p(y) / BW_p(n(y)) dy
 *   t_k    = max(u_out(b_k), u_in(b_k))                           delivery of message k
 *   s_k    = 0 if b_k <= B, else max(u_out(b_k - B), u_in(b_k - B))   local completion of the send
 *   T_i    = M_i tau + max(t_k of incoming, s_k of outgoing)
 *
 *   u_l(x)   when a flow of x bytes gets through, all flows served evenly    through.at_s     s
 *   F_p(y)   flows of protocol p with more than y bytes                      packets          -
 *   n(y)     ranks of the node that have a flow of more than y bytes         n_ranks          -
 *   BW_p(n)  bandwidth of n processes between nodes                          bandwidth_steps  B/s
 *   b_k      bytes of message k                                              pattern.bytes    B
 *   B        bytes that the transport takes without a receiver               buffer           B
 *   tau      latency of a message                                            message_class.tau_s
 *
 * Bytes are turns here: a NIC serves one of each flow in its turn. flow-window has larger packets.
 *
 * B is the machine's `buffer`; 0 where it has none, which is T8's assumption and right for RDMA rendezvous. Messages
 * within a node: the mixed staircase (T12-T17), added as in T18. Cost: O(M), 12 bytes a message between nodes.
 *
 * Domain: every rank posts all its messages, then waits (T Algorithm 2). Limits: the two NICs of a message do not
 * influence each other (no max-min fairness: a flow held up at one end leaves its share at the other unused); order is
 * by size, never by arrival. */
#include "flow.h"

#include <math.h>
#include <stdlib.h>

#include "models.h"
#include "size_order.h"
#include "staircase.h"

/* One direction of all NICs. */
struct link_side {
    const struct size_order *order; /* by node */
    const uint8_t *class_of;        /* of a message */
    enum direction direction;
    const uint32_t *here; /* of a message: its rank at this end */
};

/* Of a flow, in one direction of a NIC. */
struct through {
    double turn;
    double at_s;
};

static bool between_nodes(const struct traffic *traffic, size_t message)
{
    uint8_t class = traffic->class_of[message];
    return class != NO_CLASS && traffic->classes[class].level == LEVEL_INTER_NODE;
}

static double limited(const struct flow_limit *limit, double bytes)
{
    return fmin(limit->bytes + limit->share * bytes, limit->most_bytes);
}

/* Where a flow stands when `through` of its bytes are: flows are served in turn, as much of each as its packet. */
static double turns(const struct flow_limit *packet, double bytes, double through)
{
    return through / limited(packet, bytes);
}

/* What one more turn costs, of flows with packets of so many bytes together. */
static double rate_s_per_turn(struct bandwidth_steps *steps, const double packets[MAX_CLASSES], size_t n_ranks)
{
    double sum = 0;
    for (size_t c = 0; c < steps->n_classes; c++)
        if (packets[c] > 0) {
            size_t at = c * (steps->n_max + 1) + n_ranks;
            steps->used[at] = true;
            sum += packets[c] / steps->bytes_per_s[at];
        }
    return sum;
}

/* One node's flows, those from begin to end of the order: the turn and the time at which each is through.
 * left[n_ranks]: 0 before and after. */
static void node_through(const struct link_side *side, const struct flow_limit *packet, size_t begin, size_t end,
                         struct bandwidth_steps *steps, uint32_t *left, struct through *through)
{
    const struct size_order *order = side->order;
    double packets[MAX_CLASSES] = {0};
    size_t n_ranks = 0;
    for (size_t i = end; i-- > begin;) { /* first what a turn costs until flow i is through */
        double bytes = (double)order->bytes[i];
        uint32_t message = order->message[i];
        bool step = order->bytes[i] > (i > begin ? order->bytes[i - 1] : 0);
        packets[side->class_of[message]] += limited(packet, bytes);
        n_ranks += left[side->here[message]]++ == 0;
        through[i - begin].turn = turns(packet, bytes, bytes);
        through[i - begin].at_s = step ? rate_s_per_turn(steps, packets, n_ranks) : 0;
    }
    double elapsed_s = 0, turn = 0;
    for (size_t i = begin; i < end; i++) {
        elapsed_s += (through[i - begin].turn - turn) * through[i - begin].at_s;
        turn = through[i - begin].turn;
        through[i - begin].at_s = elapsed_s;
        left[side->here[order->message[i]]] = 0;
    }
}

/* u at a turn, at most that of through[at], the first flow of no less: linear between flows. */
static double through_at(const struct through *through, size_t at, double turn)
{
    struct through before = at > 0 ? through[at - 1] : (struct through){0};
    double turns_between = through[at].turn - before.turn;
    return turns_between > 0 ? before.at_s + (turn - before.turn) / turns_between * (through[at].at_s - before.at_s)
                             : through[at].at_s;
}

/* A direction of a node's NIC as a number. */
static uint32_t link_of(uint32_t node, enum direction direction)
{
    return 2 * node + (direction == OUTGOING ? 1 : 0);
}

/* What NICs give of t_k and s_k, the latest of each rank. Each of them is the larger of its values at both NICs, and
 * only the latest counts: so the two need not be brought together. Of equal completions of a message that at the rank's
 * own NIC counts: their number is even. critical.bytes: the turn. */
struct completions {
    struct critical *delivered; /* [n_ranks] */
    struct critical *sent;      /* [n_buffers][n_ranks] */
};

static void node_deliver(const struct link_side *side, size_t node, const struct through *through,
                         const struct pattern *pattern, struct critical *delivered)
{
    uint32_t way = link_of((uint32_t)node, side->direction);
    for (size_t i = side->order->first[node], n = 0; i < side->order->first[node + 1]; i++, n++) {
        uint32_t message = side->order->message[i];
        struct critical done = {through[n].at_s, through[n].turn, 2 * message + (side->direction == OUTGOING), way};
        critical_take(&delivered[pattern->dst[message]], &done);
    }
}

/* What is left of a message when the transport has taken the rest, in turns, grows with the message's size where it is
 * more than 0. */
static void node_send(const struct link_side *side, size_t node, const struct through *through,
                      const struct pattern *pattern, const struct flow_buffers *buffers,
                      const struct flow_buffer *buffer, struct critical *sent)
{
    size_t begin = side->order->first[node], n = side->order->first[node + 1] - begin;
    const uint64_t *bytes = side->order->bytes + begin;
    uint32_t way = link_of((uint32_t)node, side->direction);
    size_t at = 0; /* first flow of no fewer turns than are left */
    for (size_t i = 0; i < n; i++) {
        double left = (double)bytes[i] - limited(&buffer->taken, (double)bytes[i]);
        if (!(left > 0))
            continue;
        double turn = fmin(turns(&buffers->packet, (double)bytes[i], left), through[i].turn);
        while (through[at].turn < turn)
            at++;
        uint32_t message = side->order->message[begin + i];
        struct critical done = {through_at(through, at, turn), turn, 2 * message + (side->direction == INCOMING), way};
        critical_take(&sent[pattern->src[message]], &done);
    }
}

static void add_alone(double *alone_s, const struct critical *latest, uint32_t out_link, uint32_t in_link, double bytes,
                      double of_a_turn, double bytes_per_s)
{
    if (latest->way == out_link || latest->way == in_link)
        *alone_s += fmin(bytes, latest->bytes * of_a_turn) / bytes_per_s;
}

/* alone_s[n_ranks]: what the rank's own bytes would take over the NIC that it waits for, as far as they are through. */
static void transfer_alone(const struct traffic *traffic, const struct grouping *nodes, const struct flow_limit *packet,
                           const struct critical *latest, double *alone_s)
{
    const struct pattern *pattern = traffic->pattern;
    double single[MAX_CLASSES];
    traffic_single_bandwidth(traffic, single);
    for (size_t k = 0; k < pattern->n_messages; k++) {
        if (!between_nodes(traffic, k))
            continue;
        uint32_t src = pattern->src[k], dst = pattern->dst[k];
        uint32_t out = link_of(nodes->of[src], OUTGOING), in = link_of(nodes->of[dst], INCOMING);
        double bytes = (double)pattern->bytes[k], bytes_per_s = single[traffic->class_of[k]];
        double of_a_turn = limited(packet, bytes);
        add_alone(&alone_s[src], &latest[src], out, in, bytes, of_a_turn, bytes_per_s);
        add_alone(&alone_s[dst], &latest[dst], out, in, bytes, of_a_turn, bytes_per_s);
    }
}

/* One direction of all NICs. 0, or -1 without memory. */
static int add_direction(const struct traffic *traffic, const struct grouping *nodes, enum direction direction,
                         const struct flow_buffers *buffers, struct bandwidth_steps *steps,
                         const struct completions *completions)
{
    const struct pattern *pattern = traffic->pattern;
    struct size_order order;
    if (size_order_init(&order, traffic, LEVEL_BIT(LEVEL_INTER_NODE), direction, nodes->of, nodes->n_groups) != 0)
        return -1;
    const struct link_side side = {.order = &order,
                                   .class_of = traffic->class_of,
                                   .direction = direction,
                                   .here = direction == OUTGOING ? pattern->src : pattern->dst};
    uint32_t *left = calloc(traffic->n_ranks + 1, sizeof *left);
    struct through *through = malloc((size_order_largest(&order) + 1) * sizeof *through);
    int result = left != NULL && through != NULL ? 0 : -1;
    for (size_t node = 0; result == 0 && node < nodes->n_groups; node++) {
        node_through(&side, &buffers->packet, order.first[node], order.first[node + 1], steps, left, through);
        node_deliver(&side, node, through, pattern, completions->delivered);
        for (size_t i = 0; i < buffers->n; i++)
            node_send(&side, node, through, pattern, buffers, &buffers->buffer[i],
                      completions->sent + i * traffic->n_ranks);
    }
    free(through);
    free(left);
    size_order_release(&order);
    return result;
}

/* A rank's transfers with one of the buffers, whose weight they have. latest[n_ranks], in: its sends, out: overwritten.
 * alone_s[n_ranks]: room. */
static void add_transfers(const struct traffic *traffic, const struct grouping *nodes, const struct flow_limit *packet,
                          const struct critical *delivered, double weight, struct critical *latest, double *alone_s,
                          struct prediction *prediction)
{
    for (size_t rank = 0; rank < traffic->n_ranks; rank++) {
        critical_take(&latest[rank], &delivered[rank]);
        alone_s[rank] = 0;
    }
    transfer_alone(traffic, nodes, packet, latest, alone_s);
    for (size_t rank = 0; rank < traffic->n_ranks; rank++)
        prediction_add_transfer(prediction, rank, weight * alone_s[rank], weight * latest[rank].at_s);
}

/* The part between nodes. 0, or -1 without memory. */
static int add_network(const struct traffic *traffic, const struct placement *placement,
                       const struct flow_buffers *buffers, enum latency_side side, struct prediction *prediction)
{
    struct grouping nodes = {0};
    struct bandwidth_steps steps = {0};
    size_t n_ranks = traffic->n_ranks;
    struct completions completions = {.delivered = calloc(n_ranks + 1, sizeof *completions.delivered),
                                      .sent = calloc(buffers->n * n_ranks + 1, sizeof *completions.sent)};
    double *alone_s = malloc((n_ranks + 1) * sizeof *alone_s);
    int result = completions.delivered == NULL || completions.sent == NULL || alone_s == NULL ||
                         grouping_init(&nodes, placement, GROUP_BY_NODE) != 0
                     ? -1
                     : 0;
    if (result == 0)
        result = bandwidth_steps_init(&steps, traffic, nodes.largest);
    for (enum direction direction = INCOMING; result == 0 && direction < DIRECTION_COUNT; direction++)
        result = add_direction(traffic, &nodes, direction, buffers, &steps, &completions);
    if (result == 0) {
        for (size_t i = 0; i < buffers->n; i++)
            add_transfers(traffic, &nodes, &buffers->packet, completions.delivered, buffers->buffer[i].weight,
                          completions.sent + i * n_ranks, alone_s, prediction);
        for (size_t rank = 0; rank < n_ranks; rank++)
            prediction->part_s[PART_LATENCY][rank] +=
                staircase_latency_s(traffic, rank, LEVEL_BIT(LEVEL_INTER_NODE), side);
        prediction->extrapolated += bandwidth_steps_extrapolated(&steps);
    }
    bandwidth_steps_release(&steps);
    grouping_release(&nodes);
    free(alone_s);
    free(completions.sent);
    free(completions.delivered);
    return result;
}

int flow_predict(const struct flow_buffers *buffers, enum service within, const struct pattern *pattern,
                 const struct placement *placement, const struct machine *machine, const struct model_options *options,
                 struct prediction *prediction, struct error *error)
{
    struct traffic traffic;
    if (traffic_init(&traffic, pattern, placement, machine, error) != 0)
        return -1;
    prediction_clear(prediction);
    int result = 0;
    if (add_network(&traffic, placement, buffers, options->latency, prediction) != 0 ||
        staircase_add(&traffic, placement, &staircase_parts[STAIRCASE_WITHIN], within, options->latency, prediction) !=
            0)
        result = error_set(error, "no memory for the flows of %zu messages", pattern->n_messages);
    traffic_release(&traffic);
    return result == 0 ? prediction_sum(prediction, error) : result;
}

static int predict(const struct pattern *pattern, const struct placement *placement, const struct machine *machine,
                   const struct model_options *options, struct prediction *prediction, struct error *error)
{
    double bytes = machine_value(machine, LEVEL_INTER_NODE, PROTOCOL_ANY, "buffer", 0);
    const struct flow_buffers even = {.packet = {.bytes = 1, .most_bytes = INFINITY},
                                      .n = 1,
                                      .buffer = {{.taken = {.bytes = bytes, .most_bytes = INFINITY}, .weight = 1}}};
    return flow_predict(&even, SERVICE_EVEN, pattern, placement, machine, options, prediction, error);
}

const struct model flow_model = {.name = "flow", .source = "ours, T12-T18", .latency_side = true, .predict = predict};

/* flow limits messages between nodes by both NICs, gives every flow an even share, and completes a send when the
 * transport has it.
 *
 * The model is ours. It changes the staircase (A. Thune, S.-A. Reinemo, T. Skeie and X. Cai, IEEE TPDS 34(5), 2023,
 * equations 5-9: T) where transports buffer (TCP) and links are full-duplex: there a sender's NIC is a limit as the
 * receiver's is, and fairness between nodes is per flow and not per process. A send completes when the transport has
 * taken the data, not when it is delivered. For each direction l of each node's NIC, over the messages that cross it:
 *
 *   u_l(x)  = integral from 0 to x of sum over protocols p of F_p(y) / BW_p(n(y)) dy
 *   t_k     = max(u_out(b_k), u_in(b_k))                           delivery of message k
 *   s_l,k   = (1 - f) u_l(max(b_k - B, 0)) + f u_l(b_k)              the send is over, as far as NIC l goes
 *   f       = max(0, 1 - (B - q) / min(B, b_k))                      share of what would fit that finds no room
 *   q       = min(B', c_k max(0, 1 - W_i / u_l(b_k)))                 left in the buffer from the rounds before
 *   W_i     = M_i tau + max(t_k of incoming)                         what its sender waits for in any case
 *   T_i     = M_i tau + max(t_k of incoming, s_l,k of outgoing, copies of outgoing)
 *
 *   u_l(x)   when a flow of x bytes gets through, all flows served evenly    through.at_s     s
 *   F_p(y)   flows of protocol p with more than y bytes                      packets          -
 *   n(y)     ranks of the node that have a flow of more than y bytes         n_ranks          -
 *   BW_p(n)  bandwidth of n processes between nodes                          bandwidth_steps  B/s
 *   b_k      bytes of message k                                              pattern.bytes    B
 *   B, B'    bytes that the transport takes without a receiver, in this and  buffer           B
 *            the round before
 *   c_k      what the connection of message k has carried before             point.carried    b_k
 *   tau      latency of a message                                            message_class.tau_s
 *
 * Bytes are turns here: a NIC serves one of each flow in its turn. flow-window has larger packets.
 *
 * B is the machine's `buffer`; 0 where it has none, which is T8's assumption and right for RDMA rendezvous. What the
 * transport takes it has not sent: it drains while the sender goes on, for W_i until its next round, in which
 * u_l(b_k) would drain all of a round. What stays adds up over what the connection has carried, until the buffer is
 * full; then a send lasts as long as its bytes. So over many rounds that nobody waits for, a sender is as slow as its
 * NIC. s lies between u of the empty and of the full buffer, in proportion. T_i is the mean over the repetitions of the
 * round: 0 to 7 each, then 8 to 15, 16 to 31 and so on by the middle one.
 *
 * A transport with a buffer copies all bytes into it, by the sender's core. The table does not tell that rate; it tells
 * the best one of copies between two ranks of a node, BW(1) there, which no other copy is taken to exceed: V_i over
 * that, V_i the bytes that i sends between nodes. Without a BW(1) within nodes: one tau.
 *
 * Messages within a node follow the mixed staircase (T12-T17), added as in T18. Cost: O(M), 8 bytes a message between
 * nodes, 24 more for each of the node with most of them.
 *
 * Domain: every rank posts all its messages, then waits (T Algorithm 2). Limits: what connections carried and kept is
 * known of the round as a whole, not of each message; the two NICs of a message do not influence each other (no max-min
 * fairness: a flow held up at one end leaves its share at the other unused); order is by size, never by arrival. */
#include "predictor/models/flow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/models/model.h"
#include "predictor/pattern/size_order.h"
#include "predictor/models/staircase.h"
#include "share/base/memory.h"
#include "share/base/side_by_side.h"

/* Limit the repetitions: so many are looked at one by one, and so many at most, however many there are. */
enum { SINGLE = 8, MOST_POINTS = 80 };

/* Says how many flows ahead memory is asked for: the messages of a node lie anywhere in the pattern. */
enum { AHEAD = 16 };

/* Numbers a direction of a node's NIC. */
static uint32_t flow_link(uint32_t node, enum direction direction)
{
    return 2 * node + (direction == OUTGOING ? 1 : 0);
}

/* Describes one direction of all NICs, and the messages of one node's, in their order. */
struct link_side {
    const uint8_t *class_of; /* class of a message */
    enum direction direction;
    const uint32_t *here; /* [message] its rank at this end */
    size_t n;
    const uint32_t *message; /* [n] */
    const uint64_t *bytes;   /* [n] */
};

/* Says how far a flow is, in one direction of a NIC. */
struct through {
    double turn;
    double at_s;
};

/* Stands for some repetitions that are alike. */
struct point {
    double weight;  /* share of all repetitions */
    double carried; /* what a connection has carried before, in bytes of its message */
    double before;  /* what it had carried when the round before began */
};

static size_t find_points(size_t repetitions, struct point points[MOST_POINTS])
{
    size_t n_points = 0;
    for (size_t r = 0, n; r < repetitions; r += n) {
        n = r < SINGLE ? 1 : r < repetitions - r ? r : repetitions - r;
        double carried = (double)r + (double)(n - 1) / 2;
        points[n_points++] = (struct point){(double)n / (double)repetitions, carried, fmax(carried - 1, 0)};
    }
    return n_points;
}

/* Holds what the part between nodes knows of all ranks and messages. */
struct network {
    const struct traffic *traffic;
    const struct flow_transport *transport;
    struct flow_limit packet; /* packet for a message's bytes, the same in all repetitions */
    size_t n_points;
    struct point points[MOST_POINTS];
    bool carries; /* at some point buffers are not empty: sends then depend on how long ranks wait */
    struct grouping nodes;
    struct bandwidth_steps steps;
    const struct size_order *orders; /* [DIRECTION_COUNT] borrowed */
    struct critical *delivered;      /* [n_ranks] */
    struct critical *sent;           /* [n_ranks][n_points] */
    double *waits_s;                 /* [n_ranks] W_i */
    uint32_t *left;                  /* [n_ranks] all 0 except within node_through */
    struct through *through;         /* of the current node */
    uint64_t *bytes;                 /* of its messages */
};

/* Returns where a flow stands when `through` of its bytes are through: flows are served in turn, each by its packet. */
static double turns(const struct flow_limit *packet, double bytes, double through)
{
    return through / flow_limited(packet, bytes);
}

/* Returns what one more turn costs, for flows with packets of so many bytes together. */
static double rate_s_per_turn(struct bandwidth_steps *steps, const double packets[MAX_CLASSES], size_t n_ranks)
{
    double sum = 0;
    for (size_t c = 0; c < steps->n_classes; c++)
        if (packets[c] > 0)
            sum += packets[c] / bandwidth_steps_at(steps, c, n_ranks);
    return sum;
}

/* Goes through one node's flows and finds the turn and the time at which each is through. left[n_ranks] is 0 before and
 * after. */
static void node_through(const struct link_side *side, const struct flow_limit *packet, struct bandwidth_steps *steps,
                         uint32_t *left, struct through *through)
{
    double packets[MAX_CLASSES] = {0};
    size_t n_ranks = 0;
    for (size_t i = side->n; i-- > 0;) { /* first what a turn costs until flow i is through */
        double bytes = (double)side->bytes[i];
        uint32_t message = side->message[i];
        if (i >= AHEAD) {
            __builtin_prefetch(&side->class_of[side->message[i - AHEAD]]);
            __builtin_prefetch(&side->here[side->message[i - AHEAD]]);
        }
        bool step = side->bytes[i] > (i > 0 ? side->bytes[i - 1] : 0);
        packets[side->class_of[message]] += flow_limited(packet, bytes);
        n_ranks += left[side->here[message]]++ == 0;
        through[i].turn = turns(packet, bytes, bytes);
        through[i].at_s = step ? rate_s_per_turn(steps, packets, n_ranks) : 0;
    }
    double elapsed_s = 0, turn = 0;
    for (size_t i = 0; i < side->n; i++) {
        elapsed_s += (through[i].turn - turn) * through[i].at_s;
        turn = through[i].turn;
        through[i].at_s = elapsed_s;
        left[side->here[side->message[i]]] = 0;
    }
}

/* Returns u at a turn, at most that of through[at], the first flow of no less: linear between flows. */
static double through_at(const struct through *through, size_t at, double turn)
{
    struct through before = at > 0 ? through[at - 1] : (struct through){0};
    double turns_between = through[at].turn - before.turn;
    return turns_between > 0 ? before.at_s + (turn - before.turn) / turns_between * (through[at].at_s - before.at_s)
                             : through[at].at_s;
}

/* Adds a node's NIC to t_k and s_k, of which only the latest of each rank is kept. Each t_k is the larger of its values
 * at both NICs, and only the latest counts, so the two need not be brought together. Among equal completions of a
 * message the one at the rank's own NIC counts, as its number is even. critical.bytes is the turn. */
static void node_deliver(const struct link_side *side, size_t node, const struct through *through,
                         const struct pattern *pattern, struct critical *delivered)
{
    uint32_t way = flow_link((uint32_t)node, side->direction);
    for (size_t i = side->n; i-- > 0;) {
        uint32_t message = side->message[i];
        const struct through *flow = &through[i];
        if (i >= AHEAD)
            __builtin_prefetch(&pattern->dst[side->message[i - AHEAD]]);
        struct critical done = {flow->at_s, flow->turn, 2 * message + (side->direction == OUTGOING), way};
        critical_take(&delivered[pattern->dst[message]], &done);
    }
}

/* Returns f, the share of what would fit into the empty buffer that finds no room. stays is the share that stayed of
 * what was carried. */
static double no_room(const struct flow_limit *limit, const struct point *point, double bytes, double stays,
                      double buffer)
{
    double rest = fmin(flow_limited(limit, point->before * bytes), point->carried * bytes * stays);
    return rest > 0 && buffer > 0 ? fmax(0, 1 - (buffer - rest) / fmin(buffer, bytes)) : 0;
}

/* Returns what of a message's bytes did not drain while its sender went on. */
static double stays_of(const struct network *network, uint32_t message, double through_s)
{
    double waits_s = network->waits_s[network->traffic->pattern->src[message]];
    return waits_s < through_s ? 1 - waits_s / through_s : 0;
}

/* Finds when sends are over. What is left of a message, in turns, when the transport has taken the rest grows with the
 * message's size where it is more than 0. The largest message comes first: most of the others are through before what
 * is left of that one, and so cannot be the latest send of their rank. */
static void node_send(const struct network *network, const struct link_side *side, size_t node)
{
    const struct pattern *pattern = network->traffic->pattern;
    const struct flow_limit *limit = &network->transport->buffer;
    const struct through *through = network->through;
    size_t n = side->n;
    uint32_t way = flow_link((uint32_t)node, side->direction);
    size_t at[MOST_POINTS]; /* first flow of no fewer turns than are left */
    for (size_t p = 0; p < network->n_points; p++)
        at[p] = n;
    for (size_t i = n; i-- > 0;) {
        uint32_t message = side->message[i];
        if (i >= AHEAD)
            __builtin_prefetch(&pattern->src[side->message[i - AHEAD]]);
        double bytes = (double)side->bytes[i],
               stays = network->carries ? stays_of(network, message, through[i].at_s) : 0;
        struct critical *sent = &network->sent[pattern->src[message] * network->n_points];
        for (size_t p = 0; p < network->n_points; p++) {
            const struct point *point = &network->points[p];
            double buffer = flow_limited(limit, point->carried * bytes);
            if (bytes <= buffer && !(stays > 0))
                break; /* nor does it wait later, when the buffer is larger */
            if (!critical_reaches(&sent[p], through[i].at_s))
                continue;
            struct critical done = {.message = 2 * message + (side->direction == INCOMING), .way = way};
            if (bytes > buffer) {
                done.bytes = fmin(turns(&network->packet, bytes, bytes - buffer), through[i].turn);
                while (at[p] > 0 && through[at[p] - 1].turn >= done.bytes)
                    at[p]--;
                done.at_s = through_at(through, at[p], done.bytes);
            }
            double full = stays > 0 ? no_room(limit, point, bytes, stays, buffer) : 0;
            done.at_s += full * (through[i].at_s - done.at_s);
            done.bytes += full * (through[i].turn - done.bytes);
            if (done.at_s > 0 && critical_reaches(&sent[p], done.at_s))
                critical_take(&sent[p], &done);
        }
    }
}

/* Goes through all NICs, one direction after the other: finds when flows are through, and from that the deliveries, the
 * sends, or both. */
static void pass(struct network *network, bool deliveries, bool sends)
{
    const struct traffic *traffic = network->traffic;
    const struct pattern *pattern = traffic->pattern;
    for (enum direction direction = INCOMING; direction < DIRECTION_COUNT; direction++) {
        const struct size_order *order = &network->orders[direction];
        struct link_side side = {.class_of = traffic->class_of,
                                 .direction = direction,
                                 .here = direction == OUTGOING ? pattern->src : pattern->dst,
                                 .bytes = network->bytes};
        for (size_t node = 0; node < network->nodes.n_groups; node++) {
            side.message = order->message + order->first[node];
            side.n = order->first[node + 1] - order->first[node];
            for (size_t i = 0; i < side.n; i++)
                network->bytes[i] = pattern_bytes(pattern, side.message[i]);
            node_through(&side, &network->packet, &network->steps, network->left, network->through);
            if (deliveries)
                node_deliver(&side, node, network->through, pattern, network->delivered);
            if (sends)
                node_send(network, &side, node);
        }
    }
}

/* Splits what ranks wait for into bandwidth and contention, as model.h says. Each message counts for its sender and
 * its receiver, at each point where they wait for one of its links. Most messages are through at all points of a rank,
 * or on no way that it waits for: these need one look and not one for each point. */
#define SEVERAL_WAYS UINT32_MAX

/* Tells what all points of a rank have in common. */
struct common {
    uint32_t way;   /* that it waits for; SEVERAL_WAYS if they differ */
    double turns;   /* got through at least */
    double alone_s; /* of its messages that are through at all points */
};

/* Describes what a message crosses, and how. */
struct crossing {
    uint32_t out_link, in_link;
    double bytes, of_a_turn, bytes_per_s;
};

static struct common find_common(const struct critical *latest, size_t n_points)
{
    struct common common = {.way = latest->way, .turns = latest->bytes};
    for (size_t p = 1; p < n_points; p++) {
        if (latest[p].way != common.way)
            common.way = SEVERAL_WAYS;
        common.turns = fmin(common.turns, latest[p].bytes);
    }
    return common;
}

/* Adds what the message would take alone, where the rank's latest[n_points] waits for one of its links: to
 * alone_s[n_points], or once for all points where it is through at all of them. */
static void add_message(const struct crossing *message, const struct critical *latest, size_t n_points,
                        struct common *common, double *alone_s)
{
    bool same = common->way == message->out_link || common->way == message->in_link;
    if (same && message->bytes <= common->turns * message->of_a_turn)
        common->alone_s += message->bytes / message->bytes_per_s;
    else if (same || common->way == SEVERAL_WAYS)
        for (size_t p = 0; p < n_points; p++)
            if (latest[p].way == message->out_link || latest[p].way == message->in_link)
                alone_s[p] += fmin(message->bytes, latest[p].bytes * message->of_a_turn) / message->bytes_per_s;
}

static void flow_add_messages(const struct network *network, struct common *common, double *alone_s)
{
    const struct traffic *traffic = network->traffic;
    const struct pattern *pattern = traffic->pattern;
    const struct critical *latest = network->sent;
    size_t n = network->n_points;
    double single[MAX_CLASSES];
    traffic_single_bandwidth(traffic, single);
    for (size_t k = 0; k < pattern->n_messages; k++) {
        uint8_t class = traffic->class_of[k];
        if (class == NO_CLASS || traffic->classes[class].level != LEVEL_INTER_NODE)
            continue;
        uint32_t src = pattern->src[k], dst = pattern->dst[k];
        double bytes = (double)pattern_bytes(pattern, k);
        const struct crossing message = {flow_link(network->nodes.of[src], OUTGOING),
                                         flow_link(network->nodes.of[dst], INCOMING), bytes,
                                         flow_limited(&network->packet, bytes), single[class]};
        add_message(&message, &latest[src * n], n, &common[src], &alone_s[src * n]);
        add_message(&message, &latest[dst * n], n, &common[dst], &alone_s[dst * n]);
    }
}

/* Returns what the rank's own bytes would take alone over the NIC that it waits for, as far as they are through, in s:
 * [n_ranks][n_points], which the caller frees. */
static double *transfer_alone(const struct network *network)
{
    size_t n_ranks = network->traffic->n_ranks, n = network->n_points;
    struct common *common = xmalloc((n_ranks + 1) * sizeof *common);
    double *alone_s = xcalloc(n * n_ranks + 1, sizeof *alone_s);
    for (size_t rank = 0; rank < n_ranks; rank++)
        common[rank] = find_common(&network->sent[rank * n], n);
    flow_add_messages(network, common, alone_s);
    for (size_t i = 0; i < n * n_ranks; i++)
        alone_s[i] += common[i / n].alone_s;
    free(common);
    return alone_s;
}

/* Returns the best rate of a copy between two ranks of a node, in B/s; 0 if the table tells none. */
static double copy_bytes_per_s(const struct machine *machine)
{
    double best = 0;
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        bool within = row->level == LEVEL_INTRA_SOCKET || row->level == LEVEL_INTER_SOCKET;
        if (within && row->n == 1 && strcmp(row->quantity, "bw") == 0)
            best = fmax(best, row->value);
    }
    return best;
}

/* Returns the time of copying all that a rank sends between nodes into the transport's buffer. */
static double copy_s(const struct network *network, size_t rank, double bytes_per_s)
{
    const struct traffic *traffic = network->traffic;
    double bytes = traffic_bytes(traffic, rank, OUTGOING, LEVEL_BIT(LEVEL_INTER_NODE)), tau_s = 0;
    if (!(network->transport->buffer.bytes > 0) || !(bytes > 0))
        return 0;
    for (size_t c = 0; c < traffic->n_classes; c++)
        if (traffic->classes[c].level == LEVEL_INTER_NODE &&
            traffic->bytes[OUTGOING][rank * traffic->n_classes + c] > 0)
            tau_s = fmax(tau_s, traffic->classes[c].tau_s);
    return bytes_per_s > 0 ? bytes / bytes_per_s : tau_s;
}

/* Adds the ranks' transfers, the means over the points. */
static void flow_add_transfers(const struct network *network, const struct machine *machine,
                               struct prediction *prediction)
{
    size_t n_ranks = network->traffic->n_ranks, n = network->n_points;
    double copy_rate = copy_bytes_per_s(machine);
    for (size_t i = 0; i < n * n_ranks; i++)
        critical_take(&network->sent[i], &network->delivered[i / n]);
    double *alone_s = transfer_alone(network);
    for (size_t rank = 0; rank < n_ranks; rank++) {
        double copied_s = copy_s(network, rank, copy_rate);
        for (size_t p = 0; p < n; p++) {
            double weight = network->points[p].weight, at_s = network->sent[rank * n + p].at_s;
            bool copies = copied_s > at_s;
            prediction_add_transfer(prediction, rank, weight * (copies ? copied_s : alone_s[rank * n + p]),
                                    weight * (copies ? copied_s : at_s));
        }
    }
    free(alone_s);
}

static void network_release(struct network *network)
{
    bandwidth_steps_release(&network->steps);
    grouping_release(&network->nodes);
    FREE_ALL(network->delivered, network->sent, network->waits_s, network->left, network->through, network->bytes);
}

static void network_init(struct network *network, const struct placement *placement)
{
    size_t n_ranks = network->traffic->n_ranks, largest = 0;
    grouping_init(&network->nodes, placement, GROUP_BY_NODE);
    bandwidth_steps_init(&network->steps, network->traffic, network->nodes.largest);
    for (enum direction direction = INCOMING; direction < DIRECTION_COUNT; direction++) {
        size_t of_node = size_order_largest(&network->orders[direction]);
        largest = of_node > largest ? of_node : largest;
    }
    network->delivered = xcalloc(n_ranks + 1, sizeof *network->delivered);
    network->sent = xcalloc(network->n_points * n_ranks + 1, sizeof *network->sent);
    network->waits_s = xcalloc(n_ranks + 1, sizeof *network->waits_s);
    network->left = xcalloc(n_ranks + 1, sizeof *network->left);
    network->through = xmalloc((largest + 1) * sizeof *network->through);
    network->bytes = xmalloc((largest + 1) * sizeof *network->bytes);
}

struct flow_ordering {
    const struct traffic *traffic;
    const struct grouping *nodes;
    size_t n_threads;
    struct size_order *orders;
};

static int order_direction(void *context, size_t direction, struct error *error)
{
    (void)error;
    const struct flow_ordering *ordering = context;
    size_order_init(&ordering->orders[direction], ordering->traffic, LEVEL_BIT(LEVEL_INTER_NODE),
                    (enum direction)direction, ordering->nodes->of, ordering->nodes->n_groups, ordering->n_threads);
    return 0;
}

struct size_order *flow_orders(const struct traffic *traffic, const struct placement *placement, size_t n_threads)
{
    struct grouping nodes;
    grouping_init(&nodes, placement, GROUP_BY_NODE);
    struct flow_ordering ordering = {traffic, &nodes, n_threads, xcalloc(DIRECTION_COUNT, sizeof(struct size_order))};
    side_by_side(DIRECTION_COUNT, n_threads, order_direction, &ordering, NULL);
    grouping_release(&nodes);
    return ordering.orders;
}

void flow_orders_release(struct size_order *orders)
{
    for (size_t direction = 0; orders != NULL && direction < DIRECTION_COUNT; direction++)
        size_order_release(&orders[direction]);
    free(orders);
}

/* Adds the part between nodes. */
static void add_network(const struct model_input *input, const struct flow_transport *transport,
                        struct prediction *prediction)
{
    const struct traffic *traffic = input->traffic;
    struct network network = {.traffic = traffic, .transport = transport, .orders = input->by_node};
    size_t n_ranks = traffic->n_ranks, repetitions = transport->repetitions;
    network.packet = transport->packet;
    network.packet.growth *= (double)(repetitions - 1) / 2;
    network.n_points = find_points(transport->buffer.bytes > 0 ? repetitions : 1, network.points);
    network.carries = network.n_points > 1;
    network_init(&network, input->placement);
    pass(&network, true, !network.carries);
    for (size_t rank = 0; rank < n_ranks; rank++) {
        double latency_s = staircase_latency_s(traffic, rank, LEVEL_BIT(LEVEL_INTER_NODE), input->options->latency);
        network.waits_s[rank] = latency_s + network.delivered[rank].at_s;
        prediction->part_s[PART_LATENCY][rank] += latency_s;
    }
    if (network.carries)
        pass(&network, false, true);
    flow_add_transfers(&network, input->machine, prediction);
    prediction->extrapolated += bandwidth_steps_extrapolated(&network.steps);
    network_release(&network);
}

void flow_predict(const struct flow_transport *transport, size_t within, const struct model_input *input,
                  struct prediction *prediction)
{
    add_network(input, transport, prediction);
    prediction_add(prediction, &input->staircases[within]);
}

static void predict_flow(const struct model_input *input, struct prediction *prediction)
{
    double bytes = machine_value(input->machine, LEVEL_INTER_NODE, PROTOCOL_ANY, "buffer", 0);
    const struct flow_transport even = {.packet = {.bytes = 1, .most_bytes = INFINITY},
                                        .buffer = {.bytes = bytes, .most_bytes = INFINITY},
                                        .repetitions =
                                            input->options->repetitions > 0 ? input->options->repetitions : 1};
    flow_predict(&even, STAIRCASE_WITHIN, input, prediction);
}

const struct model flow_model = {.name = "flow",
                                 .summary = "both NICs limit, all flows evenly; a send ends when it is buffered",
                                 .latency_side = true,
                                 .repeats = true,
                                 .by_node = true,
                                 .staircases = STAIRCASE_BIT(STAIRCASE_WITHIN),
                                 .predict = predict_flow};

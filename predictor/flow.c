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
 *   u_l(x)   when a flow of x bytes gets through, all flows served evenly    struct link      s
 *   F_p(y)   flows of protocol p with more than y bytes                      active           -
 *   n(y)     ranks of the node that have a flow of more than y bytes         n_ranks          -
 *   BW_p(n)  bandwidth of n processes between nodes                          bandwidth_steps  B/s
 *   b_k      bytes of message k                                              pattern.bytes    B
 *   B        bytes that the transport takes without a receiver               buffer_bytes     B
 *   tau      latency of a message                                            message_class.tau_s
 *
 * B is the machine's `buffer`; 0 where it has none, which is T8's assumption and right for RDMA rendezvous. Messages
 * within a node: the mixed staircase (T12-T17), added as in T18. Cost: sorting, O(M log M).
 *
 * Domain: every rank posts all its messages, then waits (T Algorithm 2). Limits: the two NICs of a message do not
 * influence each other (no max-min fairness: a flow held up at one end leaves its share at the other unused); order is
 * by size, never by arrival. */
#include <stdlib.h>

#include "models.h"
#include "staircase.h"

struct flow {
    uint64_t bytes;
    uint32_t message;
    uint32_t node;
};

/* One direction of all NICs: the flows by node, then size, and when each gets through. */
struct direction_flows {
    struct flow *flows; /* [n] */
    double *through_s;  /* [n] u at flows[i].bytes */
    size_t *first;      /* [nodes + 1] */
    size_t *place;      /* [n_messages] of a message in flows */
    size_t n;
};

static int compare_flows(const void *a, const void *b)
{
    const struct flow *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->message > y->message) - (x->message < y->message);
}

static bool between_nodes(const struct traffic *traffic, size_t message)
{
    uint8_t class = traffic->class_of[message];
    return class != NO_CLASS && traffic->classes[class].level == LEVEL_INTER_NODE;
}

static uint32_t end_of(const struct pattern *pattern, size_t message, enum direction direction)
{
    return direction == OUTGOING ? pattern->src[message] : pattern->dst[message];
}

static void direction_release(struct direction_flows *side)
{
    free(side->flows);
    free(side->through_s);
    free(side->first);
    free(side->place);
    *side = (struct direction_flows){0};
}

/* The flows of that direction, sorted. 0, or -1 without memory. */
static int direction_init(struct direction_flows *side, const struct traffic *traffic, const struct grouping *nodes,
                          enum direction direction)
{
    const struct pattern *pattern = traffic->pattern;
    size_t n = 0;
    for (size_t k = 0; k < pattern->n_messages; k++)
        n += between_nodes(traffic, k);
    *side = (struct direction_flows){.flows = malloc((n + 1) * sizeof *side->flows),
                                     .through_s = malloc((n + 1) * sizeof *side->through_s),
                                     .first = calloc(nodes->n_groups + 1, sizeof *side->first),
                                     .place = malloc((pattern->n_messages + 1) * sizeof *side->place)};
    if (side->flows == NULL || side->through_s == NULL || side->first == NULL || side->place == NULL) {
        direction_release(side);
        return -1;
    }
    for (size_t k = 0; k < pattern->n_messages; k++)
        if (between_nodes(traffic, k)) {
            uint32_t node = nodes->of[end_of(pattern, k, direction)];
            side->flows[side->n++] = (struct flow){pattern->bytes[k], (uint32_t)k, node};
            side->first[node + 1]++;
        }
    for (size_t node = 0; node < nodes->n_groups; node++)
        side->first[node + 1] += side->first[node];
    qsort(side->flows, side->n, sizeof *side->flows, compare_flows);
    for (size_t i = 0; i < side->n; i++)
        side->place[side->flows[i].message] = i;
    return 0;
}

/* What one more byte of every flow costs now. */
static double rate_s_per_byte(struct bandwidth_steps *steps, const size_t active[MAX_CLASSES], size_t n_ranks)
{
    double sum = 0;
    for (size_t c = 0; c < steps->n_classes; c++)
        if (active[c] > 0) {
            size_t at = c * (steps->n_max + 1) + n_ranks;
            steps->used[at] = true;
            sum += (double)active[c] / steps->bytes_per_s[at];
        }
    return sum;
}

/* u of one node's flows. left[n_ranks]: 0 before and after. */
static void node_through(struct direction_flows *side, size_t node, const struct traffic *traffic,
                         enum direction direction, struct bandwidth_steps *steps, uint32_t *left)
{
    size_t active[MAX_CLASSES] = {0}, n_ranks = 0, begin = side->first[node], end = side->first[node + 1];
    for (size_t i = begin; i < end; i++) {
        active[traffic->class_of[side->flows[i].message]]++;
        n_ranks += left[end_of(traffic->pattern, side->flows[i].message, direction)]++ == 0;
    }
    double through_s = 0;
    uint64_t bytes = 0;
    for (size_t i = begin; i < end; i++) {
        const struct flow *flow = &side->flows[i];
        if (flow->bytes > bytes)
            through_s += (double)(flow->bytes - bytes) * rate_s_per_byte(steps, active, n_ranks);
        bytes = flow->bytes;
        side->through_s[i] = through_s;
        active[traffic->class_of[flow->message]]--;
        n_ranks -= --left[end_of(traffic->pattern, flow->message, direction)] == 0;
    }
}

/* u of the node at any number of bytes up to its largest flow's: linear between the sizes of its flows. */
static double through_at(const struct direction_flows *side, uint32_t node, double bytes)
{
    size_t low = side->first[node], high = side->first[node + 1] - 1; /* the answer lies at or before high */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((double)side->flows[middle].bytes < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    double at = (double)side->flows[low].bytes, before = 0, before_s = 0;
    if (low > side->first[node]) {
        before = (double)side->flows[low - 1].bytes;
        before_s = side->through_s[low - 1];
    }
    return at > before ? before_s + (bytes - before) / (at - before) * (side->through_s[low] - before_s)
                       : side->through_s[low];
}

/* A direction of a node's NIC as a number. */
static uint32_t link_of(uint32_t node, enum direction direction)
{
    return 2 * node + (direction == OUTGOING ? 1 : 0);
}

/* A completion at the later of both NICs, out_s and in_s; of equal ones at the rank's own. */
static struct critical at_later(const struct flow *flow, uint32_t in_node, double bytes, double out_s, double in_s,
                                enum direction own)
{
    struct critical out = {out_s, bytes, own == OUTGOING ? 0 : 1, link_of(flow->node, OUTGOING)};
    struct critical in = {in_s, bytes, own == INCOMING ? 0 : 1, link_of(in_node, INCOMING)};
    critical_take(&out, &in);
    out.message = flow->message;
    return out;
}

/* t_k and s_k of all messages, the latest of each rank: latest[n_ranks]. */
static void complete(const struct traffic *traffic, const struct grouping *nodes,
                     const struct direction_flows sides[DIRECTION_COUNT], double buffer_bytes, struct critical *latest)
{
    const struct direction_flows *in = &sides[INCOMING], *out = &sides[OUTGOING];
    for (size_t i = 0; i < out->n; i++) {
        const struct flow *flow = &out->flows[i];
        uint32_t src = traffic->pattern->src[flow->message], dst = traffic->pattern->dst[flow->message];
        uint32_t in_node = nodes->of[dst];
        struct critical done = at_later(flow, in_node, (double)flow->bytes, out->through_s[i],
                                        in->through_s[in->place[flow->message]], INCOMING);
        critical_take(&latest[dst], &done);
        double rest = (double)flow->bytes - buffer_bytes;
        if (!(rest > 0))
            continue;
        done =
            at_later(flow, in_node, rest, through_at(out, flow->node, rest), through_at(in, in_node, rest), OUTGOING);
        critical_take(&latest[src], &done);
    }
}

static void add_alone(double *alone_s, const struct critical *latest, uint32_t out_link, uint32_t in_link, double bytes,
                      double bytes_per_s)
{
    if (latest->way == out_link || latest->way == in_link)
        *alone_s += (bytes < latest->bytes ? bytes : latest->bytes) / bytes_per_s;
}

/* alone_s[n_ranks]: what the rank's own bytes would take over the NIC that it waits for, as far as they are through. */
static void transfer_alone(const struct traffic *traffic, const struct grouping *nodes, const struct critical *latest,
                           double *alone_s)
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
        add_alone(&alone_s[src], &latest[src], out, in, bytes, bytes_per_s);
        add_alone(&alone_s[dst], &latest[dst], out, in, bytes, bytes_per_s);
    }
}

/* The part between nodes. 0, or -1 without memory. */
static int add_network(const struct traffic *traffic, const struct placement *placement, double buffer_bytes,
                       enum latency_side side, struct prediction *prediction)
{
    struct direction_flows sides[DIRECTION_COUNT] = {0};
    struct grouping nodes = {0};
    struct bandwidth_steps steps = {0};
    struct critical *latest = calloc(traffic->n_ranks + 1, sizeof *latest);
    double *alone_s = calloc(traffic->n_ranks + 1, sizeof *alone_s);
    uint32_t *left = calloc(traffic->n_ranks + 1, sizeof *left);
    int result =
        latest == NULL || alone_s == NULL || left == NULL || grouping_init(&nodes, placement, GROUP_BY_NODE) != 0 ? -1
                                                                                                                  : 0;
    if (result == 0)
        result = bandwidth_steps_init(&steps, traffic, nodes.largest);
    for (enum direction direction = INCOMING; result == 0 && direction < DIRECTION_COUNT; direction++) {
        result = direction_init(&sides[direction], traffic, &nodes, direction);
        for (size_t node = 0; result == 0 && node < nodes.n_groups; node++)
            node_through(&sides[direction], node, traffic, direction, &steps, left);
    }
    if (result == 0) {
        complete(traffic, &nodes, sides, buffer_bytes, latest);
        transfer_alone(traffic, &nodes, latest, alone_s);
        for (size_t rank = 0; rank < traffic->n_ranks; rank++) {
            prediction->part_s[PART_LATENCY][rank] +=
                staircase_latency_s(traffic, rank, LEVEL_BIT(LEVEL_INTER_NODE), side);
            prediction_add_transfer(prediction, rank, alone_s[rank], latest[rank].at_s);
        }
        prediction->extrapolated += bandwidth_steps_extrapolated(&steps);
    }
    for (enum direction direction = INCOMING; direction < DIRECTION_COUNT; direction++)
        direction_release(&sides[direction]);
    bandwidth_steps_release(&steps);
    grouping_release(&nodes);
    free(left);
    free(alone_s);
    free(latest);
    return result;
}

static int flow_predict(const struct pattern *pattern, const struct placement *placement, const struct machine *machine,
                        const struct model_options *options, struct prediction *prediction, struct error *error)
{
    struct traffic traffic;
    if (traffic_init(&traffic, pattern, placement, machine, error) != 0)
        return -1;
    prediction_clear(prediction);
    double buffer_bytes = machine_value(machine, LEVEL_INTER_NODE, PROTOCOL_ANY, "buffer", 0);
    int result = 0;
    if (add_network(&traffic, placement, buffer_bytes, options->latency, prediction) != 0 ||
        staircase_add(&traffic, placement, LEVEL_BIT(LEVEL_INTRA_SOCKET) | LEVEL_BIT(LEVEL_INTER_SOCKET),
                      GROUP_BY_SOCKET, options->latency, prediction) != 0)
        result = error_set(error, "no memory for the flows of %zu messages", pattern->n_messages);
    traffic_release(&traffic);
    return result == 0 ? prediction_sum(prediction, error) : result;
}

const struct model flow_model = {
    .name = "flow", .source = "ours, T12-T18", .latency_side = true, .predict = flow_predict};

/* flow-tcp: between nodes each connection has a TCP window, and NICs serve what comes first.
 *
 * Ours. flow serves all flows of a NIC evenly. TCP does not: a connection has no more under way than its congestion
 * window, which grows with what is acknowledged and is kept from one round to the next, no more than two packets in the
 * queue of its NIC, and a NIC serves packets in the order in which they come. This model simulates that and nothing
 * else.
 *
 *   b_k      bytes of message k                                   pattern.bytes             B
 *   c        connection: an ordered pair of ranks                 tcp_connection            -
 *   w_c      its window (tcp_window.c: growth and constants)      tcp_window.bytes          B
 *   BW(n)    what a direction of a NIC serves, n ranks of its     bandwidth_steps           B/s
 *            node having a message under way in that direction
 *   tau      latency of a message                                 message_class.tau_s       s
 *   r        round trip of an idle network, 2 tau                 tcp_network.propagation_s s
 *   t_k      when the last byte of message k is in its node       tcp_connection.delivers   s
 *   s_k      when its send is over                                tcp_connection.sends      s
 *   R        repetitions                                          model_options.repetitions -
 *
 * A connection sends packets of 64 KB, or half of w_c where that is less, as long as no more than w_c is under way and
 * no two of them wait to leave the node. A packet of x bytes takes x / BW(n) of its sender's NIC, out, and of its
 * receiver's, in; then its acknowledgement takes its share of both the other way, waiting in the same queues, and r
 * more. A rendezvous message waits first for a handshake, which waits in the same four queues but takes no time of its
 * own: that is in tau. Messages of a connection share its window, in the order in which they may move.
 *
 *   s_k = when what is not acknowledged up to the end of k fits the send buffer; short and eager: 0
 *   T_i = M_i tau + the mean over R repetitions of max(t_k of incoming, s_k of outgoing)
 *
 * BW is that of the largest messages' protocol: a byte takes the same of a NIC whatever the protocol. M_i tau is T8's;
 * messages within a node are the mixed staircase (T12-T17), added as in T18 (A. Thune, S.-A. Reinemo, T. Skeie and X.
 * Cai, IEEE TPDS 34(5), 2023: T). Parts: bandwidth is the rank's bytes at BW(1), the incoming ones where it waits for a
 * delivery last, else the outgoing ones. All windows begin with the first repetition: R is ten as in T Algorithm 2, or
 * the rounds of the kind, where those are fewer.
 *
 * Cost: events in proportion to the bytes between nodes, five for each packet and repetition, four for a handshake.
 * Packets are larger where there would be more than about a million of them. 24 bytes a message between nodes, 16 more
 * while connections are counted, 96 a connection, 48 a packet under way.
 *
 * Domain: TCP over links of their own, every rank posting all its messages, then waiting (T Algorithm 2). Limits: those
 * of tcp_window.c; all messages post together, in the order of the pattern; the switch is never a limit. */
#include "flow_tcp.h"

#include <stdlib.h>

#include "models.h"
#include "staircase.h"
#include "tcp_network.h"

static bool crosses(const struct traffic *traffic, size_t k)
{
    uint8_t class = traffic->class_of[k];
    return class != NO_CLASS && traffic->classes[class].level == LEVEL_INTER_NODE && traffic->pattern->bytes[k] > 0;
}

/* A message by its ends. */
struct by_ends {
    uint64_t ends;
    uint32_t message;
};

static int compare_ends(const void *a, const void *b)
{
    const struct by_ends *x = a, *y = b;
    return (x->ends > y->ends) - (x->ends < y->ends);
}

/* The network's messages and connections. 0, or -1 without memory. */
static int gather(const struct traffic *traffic, struct tcp_network *network)
{
    const struct pattern *pattern = traffic->pattern;
    size_t n = 0;
    for (size_t k = 0; k < pattern->n_messages; k++)
        n += crosses(traffic, k);
    struct by_ends *sorted = malloc((n + 1) * sizeof *sorted);
    network->messages = malloc((n + 1) * sizeof *network->messages);
    if (sorted == NULL || network->messages == NULL || n >= UINT32_MAX) {
        free(sorted);
        return -1;
    }
    n = 0;
    for (size_t k = 0; k < pattern->n_messages; k++) {
        if (!crosses(traffic, k))
            continue;
        enum machine_protocol protocol = traffic->classes[traffic->class_of[k]].protocol;
        sorted[n] = (struct by_ends){(uint64_t)pattern->src[k] << 32 | pattern->dst[k], (uint32_t)n};
        network->messages[n++] = (struct tcp_message){
            .bytes = (double)pattern->bytes[k], .rendezvous = protocol != PROTOCOL_SHORT && protocol != PROTOCOL_EAGER};
    }
    qsort(sorted, n, sizeof *sorted, compare_ends);
    network->n_messages = n;
    for (size_t i = 0; i < n; i++) {
        network->n_connections += i == 0 || sorted[i].ends != sorted[i - 1].ends;
        network->messages[sorted[i].message].connection = (uint32_t)network->n_connections - 1;
    }
    network->connections = calloc(network->n_connections + 1, sizeof *network->connections);
    for (size_t i = 0; network->connections != NULL && i < n; i++) {
        struct tcp_connection *connection = &network->connections[network->messages[sorted[i].message].connection];
        connection->src = (uint32_t)(sorted[i].ends >> 32);
        connection->dst = (uint32_t)sorted[i].ends;
    }
    free(sorted);
    return network->connections == NULL ? -1 : 0;
}

/* What the last repetition gives of a rank's time. */
static void add_ends(const struct traffic *traffic, const struct tcp_network *network, double bytes_per_s,
                     size_t repetitions, struct prediction *prediction)
{
    for (size_t rank = 0; rank < traffic->n_ranks; rank++) {
        const struct tcp_end *end = &network->ends[rank];
        enum direction direction = end->of_send ? OUTGOING : INCOMING;
        double bytes = traffic_bytes(traffic, rank, direction, LEVEL_BIT(LEVEL_INTER_NODE));
        prediction_add_transfer(prediction, rank, bytes / bytes_per_s / (double)repetitions,
                                end->at_s / (double)repetitions);
    }
}

/* 0, or -1 without memory. */
static int run_network(const struct traffic *traffic, struct tcp_network *network, size_t repetitions,
                       struct prediction *prediction)
{
    int result = tcp_network_init(network, traffic->n_ranks);
    if (result != 0)
        return -1;
    double bytes_per_s = bandwidth_steps_at(network->steps, 0, 1);
    for (size_t i = 0; result == 0 && i < repetitions; i++) {
        result = tcp_network_run(network, traffic->n_ranks);
        add_ends(traffic, network, bytes_per_s, repetitions, prediction);
    }
    tcp_network_release(network);
    return result;
}

/* The transfers between nodes, wire: one class, the NICs'. 0, or -1 without memory. */
static int add_transfers(const struct traffic *traffic, const struct traffic *wire, const struct placement *placement,
                         const struct tcp_constants *constants, size_t repetitions, struct prediction *prediction)
{
    struct grouping nodes = {0};
    struct bandwidth_steps steps = {0};
    struct tcp_network network = {.constants = constants, .nodes = &nodes, .steps = &steps};
    int result = -1;
    network.propagation_s = 2 * wire->classes[0].tau_s;
    network.ends = calloc(traffic->n_ranks + 1, sizeof *network.ends);
    if (network.ends != NULL && grouping_init(&nodes, placement, GROUP_BY_NODE) == 0 &&
        bandwidth_steps_init(&steps, wire, nodes.largest) == 0 && gather(traffic, &network) == 0)
        result = run_network(traffic, &network, repetitions, prediction);
    if (result == 0)
        prediction->extrapolated += bandwidth_steps_extrapolated(&steps);
    free(network.messages);
    free(network.connections);
    free(network.ends);
    bandwidth_steps_release(&steps);
    grouping_release(&nodes);
    return result;
}

/* What the NICs serve, and the way of a byte through an idle network: BW of the last protocol, tau of the first. 0, or
 * -1 with the reason. */
static int find_wire(const struct machine *machine, struct traffic *wire, struct error *error)
{
    struct machine_protocols protocols;
    *wire = (struct traffic){.n_classes = 1};
    if (machine_protocols(machine, LEVEL_INTER_NODE, &protocols, error) != 0 ||
        machine_tau_s(machine, LEVEL_INTER_NODE, protocols.protocol[0], &wire->classes[0].tau_s, error) != 0)
        return -1;
    return machine_bandwidth(machine, LEVEL_INTER_NODE, protocols.protocol[protocols.n - 1],
                             &wire->classes[0].bandwidth, error);
}

/* 0, or -1 with the reason. */
static int add_network(const struct traffic *traffic, const struct placement *placement, const struct machine *machine,
                       const struct tcp_constants *constants, const struct model_options *options,
                       struct prediction *prediction, struct error *error)
{
    struct traffic wire;
    size_t repetitions = options->repetitions > 0 ? options->repetitions : DEFAULT_REPETITIONS;
    bool any = false;
    for (size_t k = 0; !any && k < traffic->pattern->n_messages; k++)
        any = crosses(traffic, k);
    for (size_t rank = 0; rank < traffic->n_ranks; rank++)
        prediction->part_s[PART_LATENCY][rank] +=
            staircase_latency_s(traffic, rank, LEVEL_BIT(LEVEL_INTER_NODE), options->latency);
    if (!any)
        return 0;
    if (find_wire(machine, &wire, error) != 0)
        return -1;
    int result = add_transfers(traffic, &wire, placement, constants, repetitions, prediction);
    machine_bandwidth_release(&wire.classes[0].bandwidth);
    return result == 0
               ? 0
               : error_set(error, "no memory for the connections of %zu messages", traffic->pattern->n_messages);
}

int flow_tcp_predict(const struct tcp_constants *constants, const struct pattern *pattern,
                     const struct placement *placement, const struct machine *machine,
                     const struct model_options *options, struct prediction *prediction, struct error *error)
{
    struct traffic traffic;
    if (traffic_init(&traffic, pattern, placement, machine, error) != 0)
        return -1;
    prediction_clear(prediction);
    int result = add_network(&traffic, placement, machine, constants, options, prediction, error);
    if (result == 0 && staircase_add(&traffic, placement, LEVEL_BIT(LEVEL_INTRA_SOCKET) | LEVEL_BIT(LEVEL_INTER_SOCKET),
                                     GROUP_BY_SOCKET, options->latency, prediction) != 0)
        result = error_set(error, "no memory for the steps of %zu messages", pattern->n_messages);
    traffic_release(&traffic);
    return result == 0 ? prediction_sum(prediction, error) : result;
}

static int predict(const struct pattern *pattern, const struct placement *placement, const struct machine *machine,
                   const struct model_options *options, struct prediction *prediction, struct error *error)
{
    return flow_tcp_predict(&tcp_linux, pattern, placement, machine, options, prediction, error);
}

const struct model flow_tcp_model = {.name = "flow-tcp",
                                     .source = "ours: TCP windows and queues, simulated, T12-T18",
                                     .latency_side = true,
                                     .repeats = true,
                                     .simulates = true,
                                     .predict = predict};

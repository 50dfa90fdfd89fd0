/* See tcp_network.h. A connection's messages are a stream of bytes, in the order in which they may move; three marks go
 * along it: sent, delivered, acknowledged. A handshake is a packet without bytes. */
#include <math.h>
#include <stdlib.h>

#include "tcp_queues.h"

/* The next packet of a connection that has something to send: its bytes, or 0 while it may not go. */
static double next_packet(const struct tcp_network *network, const struct tcp_connection *connection)
{
    const struct tcp_constants *constants = network->constants;
    double window = connection->window.bytes, under_way = connection->sent - connection->acknowledged;
    double bytes = fmin(constants->packet_bytes, floor(constants->packet_windows * window));
    bytes = fmin(fmax(bytes, network->packet_least_bytes), connection->stream - connection->sent);
    bool queued = connection->sent - connection->out >= constants->packets_queued * bytes;
    return under_way > 0 && (under_way + bytes > window || queued) ? 0 : bytes;
}

/* As much as may go. 0, or -1 without memory. */
static int send_data(struct tcp_network *network, uint32_t number)
{
    struct tcp_connection *connection = &network->connections[number];
    while (connection->sent < connection->stream) {
        double bytes = next_packet(network, connection);
        if (!(bytes > 0))
            break;
        uint32_t packet = tcp_packet_new(network, number);
        if (packet == TCP_NONE)
            return -1;
        connection->sent = fmin(connection->sent + bytes, connection->stream);
        network->packets[packet].bytes = bytes;
        network->packets[packet].to = connection->sent;
        tcp_enqueue(network, packet, HOP_OUT, network->now_s);
    }
    return 0;
}

/* A message is under way, or no more, at one of its ends. */
static void count_open(struct tcp_network *network, uint32_t rank, enum direction direction, bool opens)
{
    uint32_t *open = &network->open_of[direction][rank];
    struct tcp_queue *queue = &network->queues[2 * (size_t)network->nodes->of[rank] + direction];
    if (opens)
        queue->n_open += (*open)++ == 0;
    else
        queue->n_open -= --*open == 0;
}

static void end_sends(struct tcp_network *network, struct tcp_connection *connection)
{
    double taken = connection->acknowledged + tcp_window_buffer(&connection->window, network->constants);
    struct tcp_end *end = &network->ends[connection->src];
    while (connection->sends != TCP_NONE && connection->sends_to <= taken) {
        const struct tcp_message *message = &network->messages[connection->sends];
        if (message->rendezvous && network->now_s > end->at_s)
            *end = (struct tcp_end){network->now_s, true};
        connection->sends = message->next;
        if (connection->sends != TCP_NONE)
            connection->sends_to += network->messages[connection->sends].bytes;
    }
}

/* Its data may go. 0, or -1 without memory. */
static int begin_message(struct tcp_network *network, uint32_t number)
{
    struct tcp_message *message = &network->messages[number];
    struct tcp_connection *connection = &network->connections[message->connection];
    message->next = TCP_NONE;
    if (connection->last != TCP_NONE)
        network->messages[connection->last].next = number;
    connection->last = number;
    connection->stream += message->bytes;
    if (connection->delivers == TCP_NONE) {
        connection->delivers = number;
        connection->delivers_to = connection->stream;
    }
    if (connection->sends == TCP_NONE) {
        connection->sends = number;
        connection->sends_to = connection->stream;
    }
    int result = send_data(network, message->connection);
    end_sends(network, connection);
    return result;
}

static void deliver(struct tcp_network *network, const struct tcp_packet *packet)
{
    struct tcp_connection *connection = &network->connections[packet->connection];
    struct tcp_end *end = &network->ends[connection->dst];
    while (connection->delivers != TCP_NONE && connection->delivers_to <= packet->to) {
        if (network->now_s >= end->at_s)
            *end = (struct tcp_end){network->now_s, false};
        count_open(network, connection->src, OUTGOING, false);
        count_open(network, connection->dst, INCOMING, false);
        connection->delivers = network->messages[connection->delivers].next;
        if (connection->delivers != TCP_NONE)
            connection->delivers_to += network->messages[connection->delivers].bytes;
    }
}

/* 0, or -1 without memory. */
static int acknowledge(struct tcp_network *network, const struct tcp_packet *packet)
{
    struct tcp_connection *connection = &network->connections[packet->connection];
    tcp_window_acknowledge(&connection->window, network->constants, packet->to - connection->acknowledged,
                           network->now_s - packet->sent_s);
    connection->acknowledged = packet->to;
    int result = send_data(network, packet->connection);
    end_sends(network, connection);
    return result;
}

/* A packet is through a queue, where it was served since begin_s. 0, or -1 without memory. */
static int pass_on(struct tcp_network *network, uint32_t number, double begin_s)
{
    struct tcp_packet packet = network->packets[number];
    bool handshake = !(packet.bytes > 0);
    if (packet.hop == HOP_IN && !handshake)
        deliver(network, &packet);
    if (packet.hop == HOP_BACK || (packet.hop == HOP_BACK_IN && handshake)) {
        tcp_packet_free(network, number);
        return handshake ? begin_message(network, packet.message) : acknowledge(network, &packet);
    }
    bool answered = packet.hop == HOP_IN || packet.hop == HOP_BACK_IN; /* what goes from there begins there */
    tcp_enqueue(network, number, packet.hop + 1, answered ? network->now_s : begin_s);
    if (packet.hop != HOP_OUT || handshake)
        return 0;
    network->connections[packet.connection].out = packet.to;
    return send_data(network, packet.connection);
}

/* 0, or -1 without memory. */
static int post_message(struct tcp_network *network, uint32_t number)
{
    const struct tcp_message *message = &network->messages[number];
    if (!message->rendezvous)
        return begin_message(network, number);
    uint32_t packet = tcp_packet_new(network, message->connection);
    if (packet == TCP_NONE)
        return -1;
    network->packets[packet].message = number;
    tcp_enqueue(network, packet, HOP_OUT, network->now_s);
    return 0;
}

/* As before the first message, but for the windows. */
static void begin_again(struct tcp_network *network, size_t n_ranks)
{
    tcp_queues_clear(network);
    for (size_t i = 0; i < network->n_connections; i++) {
        struct tcp_connection *connection = &network->connections[i];
        connection->last = connection->delivers = connection->sends = TCP_NONE;
        connection->stream = connection->sent = connection->out = connection->acknowledged = 0;
    }
    for (size_t rank = 0; rank < n_ranks; rank++)
        network->ends[rank] = (struct tcp_end){0};
}

int tcp_network_init(struct tcp_network *network, size_t n_ranks)
{
    double bytes = 0;
    for (size_t k = 0; k < network->n_messages; k++)
        bytes += network->messages[k].bytes;
    network->packet_least_bytes = bytes / network->constants->packets_most;
    for (int direction = 0; direction < DIRECTION_COUNT; direction++)
        network->open_of[direction] = calloc(n_ranks + 1, sizeof *network->open_of[direction]);
    for (size_t i = 0; i < network->n_connections; i++)
        network->connections[i].window = tcp_window_new(network->constants, network->propagation_s);
    if (tcp_queues_init(network) == 0 && network->open_of[0] != NULL && network->open_of[1] != NULL)
        return 0;
    tcp_network_release(network);
    return -1;
}

int tcp_network_run(struct tcp_network *network, size_t n_ranks)
{
    begin_again(network, n_ranks);
    for (size_t k = 0; k < network->n_messages; k++) {
        const struct tcp_connection *connection = &network->connections[network->messages[k].connection];
        count_open(network, connection->src, OUTGOING, true);
        count_open(network, connection->dst, INCOMING, true);
    }
    for (size_t k = 0; k < network->n_messages; k++)
        if (post_message(network, (uint32_t)k) != 0)
            return -1;
    uint32_t packet;
    double begin_s;
    while (tcp_next(network, &packet, &begin_s))
        if (pass_on(network, packet, begin_s) != 0)
            return -1;
    return 0;
}

void tcp_network_release(struct tcp_network *network)
{
    tcp_queues_release(network);
    free(network->open_of[0]);
    free(network->open_of[1]);
}

/* See tcp_queues.h. Only what a queue serves is an event, so that there are no more events at a time than queues, and
 * O(log nodes) an event. What comes in on one NIC while it goes out on another is not served twice: a NIC that is idle
 * when a packet's first byte comes is through with it when its last one has come. */
#include "tcp_queues.h"

#include <math.h>
#include <stdlib.h>

struct tcp_event {
    double at_s;
    uint64_t turn;
    size_t queue; /* through with its first */
};

int tcp_queues_init(struct tcp_network *network)
{
    network->queues = malloc(tcp_queues(network) * sizeof *network->queues);
    network->events = malloc(tcp_queues(network) * sizeof *network->events);
    network->unused = TCP_NONE;
    return network->queues != NULL && network->events != NULL ? 0 : -1;
}

void tcp_queues_clear(struct tcp_network *network)
{
    network->now_s = 0;
    network->turn = 0;
    for (size_t i = 0; i < tcp_queues(network); i++)
        network->queues[i] = (struct tcp_queue){.first = TCP_NONE, .last = TCP_NONE};
}

void tcp_queues_release(struct tcp_network *network)
{
    free(network->queues);
    free(network->events);
    free(network->packets);
}

static bool before(const struct tcp_event *a, const struct tcp_event *b)
{
    return a->at_s < b->at_s || (!(a->at_s > b->at_s) && a->turn < b->turn);
}

static void event_push(struct tcp_network *network, double at_s, size_t queue)
{
    struct tcp_event *events = network->events, event = {at_s, network->turn++, queue};
    size_t at = network->n_events++;
    for (; at > 0 && before(&event, &events[(at - 1) / 2]); at = (at - 1) / 2)
        events[at] = events[(at - 1) / 2];
    events[at] = event;
}

static struct tcp_event event_pop(struct tcp_network *network)
{
    struct tcp_event *events = network->events, first = events[0], last = events[--network->n_events];
    size_t at = 0;
    for (size_t child = 1; child < network->n_events; child = 2 * at + 1) {
        if (child + 1 < network->n_events && before(&events[child + 1], &events[child]))
            child++;
        if (!before(&events[child], &last))
            break;
        events[at] = events[child];
        at = child;
    }
    events[at] = last;
    return first;
}

static size_t queue_of(const struct tcp_network *network, const struct tcp_packet *packet)
{
    const struct tcp_connection *connection = &network->connections[packet->connection];
    const uint32_t *node = network->nodes->of;
    switch (packet->hop) {
    case HOP_OUT:
        return 2 * (size_t)node[connection->src] + OUTGOING;
    case HOP_IN:
        return 2 * (size_t)node[connection->dst] + INCOMING;
    case HOP_BACK_OUT:
        return 2 * (size_t)node[connection->dst] + OUTGOING;
    case HOP_BACK_IN:
        return 2 * (size_t)node[connection->src] + INCOMING;
    case HOP_BACK:
        break;
    }
    return 2 * network->nodes->n_groups;
}

/* Of the first of a queue. */
static void serve(struct tcp_network *network, size_t at)
{
    struct tcp_queue *queue = &network->queues[at];
    const struct tcp_packet *packet = &network->packets[queue->first];
    if (packet->hop == HOP_BACK) {
        event_push(network, packet->first_s + network->propagation_s, at);
        return;
    }
    bool data = packet->hop == HOP_OUT || packet->hop == HOP_IN;
    double bytes = data ? packet->bytes : packet->bytes * network->constants->acknowledgement_share;
    double bytes_per_s = bandwidth_steps_at(network->steps, 0, queue->n_open > 0 ? queue->n_open : 1);
    queue->begin_s = fmax(queue->free_s, packet->first_s);
    queue->free_s = fmax(queue->begin_s + bytes / bytes_per_s, network->now_s);
    event_push(network, queue->free_s, at);
}

void tcp_enqueue(struct tcp_network *network, uint32_t packet, enum tcp_hop hop, double first_s)
{
    network->packets[packet].hop = hop;
    network->packets[packet].first_s = first_s;
    network->packets[packet].next = TCP_NONE;
    size_t at = queue_of(network, &network->packets[packet]);
    struct tcp_queue *queue = &network->queues[at];
    bool idle = queue->first == TCP_NONE;
    if (idle)
        queue->first = packet;
    else
        network->packets[queue->last].next = packet;
    queue->last = packet;
    if (idle)
        serve(network, at);
}

uint32_t tcp_packet_new(struct tcp_network *network, uint32_t connection)
{
    uint32_t packet = network->unused;
    if (packet != TCP_NONE) {
        network->unused = network->packets[packet].next;
    } else {
        if (network->n_packets == network->capacity) {
            size_t capacity = 2 * network->capacity + 64;
            struct tcp_packet *packets =
                capacity < TCP_NONE ? realloc(network->packets, capacity * sizeof *packets) : NULL;
            if (packets == NULL)
                return TCP_NONE;
            network->packets = packets;
            network->capacity = capacity;
        }
        packet = (uint32_t)network->n_packets++;
    }
    network->packets[packet] = (struct tcp_packet){.connection = connection, .sent_s = network->now_s};
    return packet;
}

void tcp_packet_free(struct tcp_network *network, uint32_t packet)
{
    network->packets[packet].next = network->unused;
    network->unused = packet;
}

bool tcp_next(struct tcp_network *network, uint32_t *packet, double *begin_s)
{
    if (network->n_events == 0)
        return false;
    struct tcp_event event = event_pop(network);
    struct tcp_queue *queue = &network->queues[event.queue];
    network->now_s = event.at_s;
    *packet = queue->first;
    *begin_s = queue->begin_s;
    queue->first = network->packets[queue->first].next;
    if (queue->first != TCP_NONE)
        serve(network, event.queue);
    return true;
}

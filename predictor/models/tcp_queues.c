/* See tcp_queues.h. Only what a queue serves is an event, so that there are no more events at a time than queues, and
 * O(log nodes) an event. What comes in on one NIC while it goes out on another is not served twice: a NIC that is idle
 * when a chunk's first byte comes is through with it when its last one has come. */
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
    free(network->chunks);
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

static size_t queue_of(const struct tcp_network *network, const struct tcp_chunk *chunk)
{
    const struct tcp_connection *connection = &network->connections[chunk->connection];
    const uint32_t *node = network->nodes->of;
    switch (chunk->hop) {
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
    const struct tcp_chunk *chunk = &network->chunks[queue->first];
    if (chunk->hop == HOP_BACK) {
        event_push(network, chunk->first_s + network->propagation_s, at);
        return;
    }
    bool data = chunk->hop == HOP_OUT || chunk->hop == HOP_IN;
    double bytes = data ? chunk->bytes : chunk->bytes * network->constants->acknowledgement_share;
    double bytes_per_s = bandwidth_steps_at(network->steps, 0, queue->n_open > 0 ? queue->n_open : 1);
    queue->begin_s = fmax(queue->free_s, chunk->first_s);
    queue->free_s = fmax(queue->begin_s + bytes / bytes_per_s, network->now_s);
    event_push(network, queue->free_s, at);
}

void tcp_enqueue(struct tcp_network *network, uint32_t chunk, enum tcp_hop hop, double first_s)
{
    network->chunks[chunk].hop = hop;
    network->chunks[chunk].first_s = first_s;
    network->chunks[chunk].next = TCP_NONE;
    size_t at = queue_of(network, &network->chunks[chunk]);
    struct tcp_queue *queue = &network->queues[at];
    bool idle = queue->first == TCP_NONE;
    if (idle)
        queue->first = chunk;
    else
        network->chunks[queue->last].next = chunk;
    queue->last = chunk;
    if (idle)
        serve(network, at);
}

uint32_t tcp_chunk_new(struct tcp_network *network, uint32_t connection)
{
    uint32_t chunk = network->unused;
    if (chunk != TCP_NONE) {
        network->unused = network->chunks[chunk].next;
    } else {
        if (network->n_chunks == network->capacity) {
            size_t capacity = 2 * network->capacity + 64;
            struct tcp_chunk *chunks = capacity < TCP_NONE ? realloc(network->chunks, capacity * sizeof *chunks) : NULL;
            if (chunks == NULL)
                return TCP_NONE;
            network->chunks = chunks;
            network->capacity = capacity;
        }
        chunk = (uint32_t)network->n_chunks++;
    }
    network->chunks[chunk] = (struct tcp_chunk){.connection = connection, .sent_s = network->now_s};
    return chunk;
}

void tcp_chunk_free(struct tcp_network *network, uint32_t chunk)
{
    network->chunks[chunk].next = network->unused;
    network->unused = chunk;
}

bool tcp_next(struct tcp_network *network, uint32_t *chunk, double *begin_s)
{
    if (network->n_events == 0)
        return false;
    struct tcp_event event = event_pop(network);
    struct tcp_queue *queue = &network->queues[event.queue];
    network->now_s = event.at_s;
    *chunk = queue->first;
    *begin_s = queue->begin_s;
    queue->first = network->chunks[queue->first].next;
    if (queue->first != TCP_NONE)
        serve(network, event.queue);
    return true;
}

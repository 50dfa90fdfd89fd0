/* Connections over the NICs of nodes, as a simulation of events: what flow_tcp.c, which has the citation and the
 * symbols, makes times of. No MPI: ranks are numbers. */
#ifndef MPISTAIR_PREDICTOR_TCP_NETWORK_H
#define MPISTAIR_PREDICTOR_TCP_NETWORK_H

#include <stddef.h>
#include <stdint.h>

#include "group.h"
#include "staircase.h"
#include "tcp_window.h"

/* A message between nodes of more than 0 bytes. */
struct tcp_message {
    double bytes;
    uint32_t connection;
    uint32_t next;   /* of its connection, in the order in which they begin to move; the network's own */
    bool rendezvous; /* data waits for a handshake, and the send for the data */
};

/* From one rank to another. What one repetition leaves behind is the window. */
struct tcp_connection {
    uint32_t src, dst;
    uint32_t last;      /* message that moves, or no more; NONE: none yet */
    uint32_t delivers;  /* the first that is not delivered, NONE: none */
    uint32_t sends;     /* the first whose send is not over */
    double delivers_to; /* where these two end in the stream of bytes of the repetition */
    double sends_to;
    double stream; /* bytes of the stream, of them sent, out of the NIC's queue, acknowledged */
    double sent;
    double out;
    double acknowledged;
    struct tcp_window window;
};

/* The last completion of a rank's messages in a repetition. */
struct tcp_end {
    double at_s;
    bool of_send; /* of a send, later than all deliveries */
};

struct tcp_packet;
struct tcp_queue;

struct tcp_network {
    const struct tcp_constants *constants;
    const struct grouping *nodes;
    struct bandwidth_steps *steps; /* BW(n), one class */
    double propagation_s;          /* of an idle network, there and back */
    double packet_least_bytes;
    struct tcp_message *messages; /* [n_messages] in the order of their posts; the caller's */
    size_t n_messages;
    struct tcp_connection *connections; /* [n_connections]; the caller's */
    size_t n_connections;
    struct tcp_end *ends; /* [n_ranks] out; the caller's */
    /* Its own. */
    double now_s;
    struct tcp_queue *queues; /* both directions of every node's NIC, then the way back */
    uint32_t *open_of[2];     /* [n_ranks] messages of a rank under way, by direction */
    struct tcp_packet *packets;
    size_t n_packets, capacity;
    uint32_t unused; /* chain of packets */
    struct tcp_event *events;
    size_t n_events;
    uint64_t turn; /* events at one time come in the order in which they were made */
};

/* 0, or -1 without memory. The caller has set what is above 'Its own', all else is zero. */
int tcp_network_init(struct tcp_network *network, size_t n_ranks);
/* All messages post at 0, in their order, and move to their end: ends[n_ranks]. Windows go on from what they are. 0, or
 * -1 without memory. */
int tcp_network_run(struct tcp_network *network, size_t n_ranks);
void tcp_network_release(struct tcp_network *network);

#endif

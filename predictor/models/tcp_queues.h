/* The queues of a tcp_network, between its connections and its clock. A packet passes them hop by hop: out of its
 * sender's node and into its receiver's; as an acknowledgement out of that and into the sender's; then it is on the way
 * back for as long as an idle network takes. Each serves what came first. */
#ifndef MPISTAIR_PREDICTOR_TCP_QUEUES_H
#define MPISTAIR_PREDICTOR_TCP_QUEUES_H

#include "tcp_network.h"

#define TCP_NONE UINT32_MAX

enum tcp_hop { HOP_OUT, HOP_IN, HOP_BACK_OUT, HOP_BACK_IN, HOP_BACK };

struct tcp_packet {
    double first_s; /* its first byte comes to the queue */
    double bytes;   /* 0: a handshake */
    double to;      /* where it ends in its connection's stream */
    double sent_s;
    uint32_t connection;
    uint32_t message; /* of a handshake */
    uint32_t next;    /* in its queue */
    enum tcp_hop hop;
};

struct tcp_queue {
    uint32_t first, last; /* TCP_NONE: empty */
    double begin_s;       /* of the service of its first */
    double free_s;        /* the end of the latest service */
    size_t n_open;        /* ranks with messages under way there */
};

/* 2 node + direction; behind them the way back. */
static inline size_t tcp_queues(const struct tcp_network *network)
{
    return 2 * network->nodes->n_groups + 1;
}

/* Room for the queues. 0, or -1 without memory. */
int tcp_queues_init(struct tcp_network *network);
/* All empty and idle, at time 0. */
void tcp_queues_clear(struct tcp_network *network);
void tcp_queues_release(struct tcp_network *network);

/* A handshake of the connection; data where bytes and to are set. TCP_NONE without memory. */
uint32_t tcp_packet_new(struct tcp_network *network, uint32_t connection);
void tcp_packet_free(struct tcp_network *network, uint32_t packet);
/* first_s: when its first byte comes; the last one comes now. */
void tcp_enqueue(struct tcp_network *network, uint32_t packet, enum tcp_hop hop, double first_s);
/* What next is through a queue, since when it was served there; now_s is then. False: nothing is under way. */
bool tcp_next(struct tcp_network *network, uint32_t *packet, double *begin_s);

#endif

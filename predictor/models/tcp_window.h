/* A TCP connection's congestion window without losses: how much may be under way, how that grows, and what the kernel
 * takes of a send before it is acknowledged. Sources of the constants: tcp_window.c. */
#ifndef MPISTAIR_PREDICTOR_TCP_WINDOW_H
#define MPISTAIR_PREDICTOR_TCP_WINDOW_H

#include <stdbool.h>

/* A struct, so that tests can have windows that never limit, or limits that are worked by hand. */
struct tcp_constants {
    double initial_bytes;         /* window of a new connection */
    double largest_bytes;         /* of a window and of a send buffer */
    double buffer_windows;        /* payload that the send buffer takes, in windows */
    double acknowledgement_share; /* what its acknowledgements take of a NIC, of the time of the data */
    double rise_least_s;          /* slow start ends where a round trip is longer than the shortest by */
    double rise_most_s;           /* shortest / rise_divisor, between these two, */
    double rise_divisor;          /* and the window is larger than */
    double rise_from_bytes;
    double growth;         /* of a window after slow start, of what is acknowledged */
    double packet_bytes;   /* largest packet */
    double packet_windows; /* no more than so many windows in one packet */
    double packets_queued; /* of a connection, in the queue of its NIC */
    double packets_most;   /* of a repetition, all connections together, about: above, they are larger */
};

/* Linux with Ethernet frames of 1,500 bytes. */
extern const struct tcp_constants tcp_linux;

struct tcp_window {
    double bytes;
    double shortest_s; /* round trip so far */
    bool slow_start;
};

/* Of a new connection, which has seen the round trip of an idle network, idle_s. */
struct tcp_window tcp_window_new(const struct tcp_constants *constants, double idle_s);
/* bytes were acknowledged, round_trip_s after they were sent. */
void tcp_window_acknowledge(struct tcp_window *window, const struct tcp_constants *constants, double bytes,
                            double round_trip_s);
/* Bytes of payload, not yet acknowledged, that the kernel takes from a sender. */
double tcp_window_buffer(const struct tcp_window *window, const struct tcp_constants *constants);

#endif

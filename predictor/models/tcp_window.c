/* The windows of TCP, without losses.
 *
 *   w      congestion window                              tcp_window.bytes       B     10 segments at first (RFC 6928)
 *   a      bytes that an acknowledgement acknowledges     bytes                  B
 *   r      time since they were sent                      round_trip_s           s
 *   r_0    the connection's shortest r                    tcp_window.shortest_s  s
 *   m      a segment's payload: 1500 - 20 - 20 - 12       SEGMENT_BYTES          B     1448 with time stamps (RFC 7323)
 *
 *   slow start:            w += a                                             (RFC 5681, 3.1; RFC 3465)
 *   ends (HyStart) where   r > r_0 + clamp(r_0 / 8, 4 ms, 16 ms), w > 16 m    (S. Ha and I. Rhee, Computer Networks
 *                          55(9), 2011; RFC 9406, 4.2; Linux, net/ipv4/tcp_cubic.c: hystart_update, HYSTART_DELAY_MIN,
 *                          HYSTART_DELAY_MAX, hystart_low_window)
 *   from there             w += a / 20                                        (CUBIC before its first loss: Linux,
 *                          net/ipv4/tcp_cubic.c, bictcp_update: cnt 20)
 *
 * The kernel hands packets of up to 64 KB to the NIC, 45 segments, which takes them apart (TCP segmentation offload),
 * but no more than half a window at once (Linux, net/ipv4/tcp_output.c: tcp_cwnd_test), and no third one of a
 * connection while two are in the NIC's queue (TCP small queues: tcp_small_queue_check).
 *
 * It takes what fits the send buffer, which it makes two windows large (Linux, net/ipv4/tcp_input.c, tcp_sndbuf_expand:
 * 2 * cwnd * per_mss). per_mss is a segment with its headers, rounded up to a power of two, and its sk_buff:
 * 1460 + MAX_TCP_HEADER + 320, at most 2048, and 256, together 2304 bytes. Since segments are coalesced, nearly all of
 * that holds payload: 2 * 2304 / 1448 = 3.18 windows. Buffers and with them windows end at 4 MB (tcp_wmem).
 *
 * An acknowledgement is a frame of 66 bytes for every two of 1514 (RFC 1122, 4.2.3.2): 2.2 % of the data's time.
 *
 * Limits: no losses, no ECN, no other control than this, such as BBR's; the receiver's window is never smaller; a
 * connection's window grows although its sender leaves it unused (RFC 7661 does not), and is kept while it is idle (RFC
 * 5681, 4.1, only up to a retransmission timeout, 200 ms and more). A kernel with room for WLAN headers in
 * MAX_TCP_HEADER has per_mss 4352 and takes 6 windows. Linux may end slow start from 16 segments on as soon as
 * acknowledgements come densely (HYSTART_ACK_TRAIN): tried, it changed the median T11 of twelve irregular patterns by
 * 0.6 points at most. */
#include "tcp_window.h"

#include <math.h>

#define SEGMENT_BYTES 1448.

const struct tcp_constants tcp_linux = {
    .initial_bytes = 10 * SEGMENT_BYTES,
    .largest_bytes = 4 << 20,
    .buffer_windows = 2 * 2304 / SEGMENT_BYTES,
    .acknowledgement_share = 66 / (2 * 1514.),
    .rise_least_s = 4e-3,
    .rise_most_s = 16e-3,
    .rise_divisor = 8,
    .rise_from_bytes = 16 * SEGMENT_BYTES,
    .growth = 1 / 20.,
    .packet_bytes = 45 * SEGMENT_BYTES,
    .packet_windows = 1 / 2.,
    .packets_queued = 2,
    .packets_most = 1 << 20,
};

struct tcp_window tcp_window_new(const struct tcp_constants *constants, double idle_s)
{
    return (struct tcp_window){.bytes = constants->initial_bytes, .shortest_s = idle_s, .slow_start = true};
}

void tcp_window_acknowledge(struct tcp_window *window, const struct tcp_constants *constants, double bytes,
                            double round_trip_s)
{
    window->shortest_s = fmin(window->shortest_s, round_trip_s);
    if (!window->slow_start) {
        window->bytes += constants->growth * bytes;
    } else {
        window->bytes += bytes;
        double rise_s =
            fmin(fmax(window->shortest_s / constants->rise_divisor, constants->rise_least_s), constants->rise_most_s);
        if (round_trip_s > window->shortest_s + rise_s && window->bytes > constants->rise_from_bytes)
            window->slow_start = false;
    }
    window->bytes = fmin(window->bytes, constants->largest_bytes);
}

double tcp_window_buffer(const struct tcp_window *window, const struct tcp_constants *constants)
{
    return fmin(constants->buffer_windows * window->bytes, constants->largest_bytes);
}

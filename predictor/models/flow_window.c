/* flow-window is flow over TCP, whose buffers and packets grow with what a connection has carried.
 *
 * The model is ours. flow lets a send be over when all but B of its bytes are through, B the same for every message.
 * Over TCP, B is the socket's send buffer, 3.18 congestion windows, and the window, which is kept from one repetition
 * of a round to the next, has grown with what was acknowledged. And NICs do not serve flows evenly: two packets of each
 * connection are in a queue at a time, half a window each, so that flows with larger windows get more.
 *
 *   w_r(b) = w_1 + g c_r                    c_r = r b, r = 0, 1, ..., R - 1: what the connection has carried
 *   B_r(b) = min(3.18 w_r(b), 4 MB)
 *   x(b)   = min(w_r(b) / 2, 45 m)          r = (R - 1) / 2: what a NIC serves of a flow in its turn
 *   u_l    = integral over the turns v of sum over protocols p of X_p(v) / BW_p(n(v)) dv, to v = b / x(b)
 *   T_i    = the mean over r of flow's T_i with these u_l and B = B_r(b_k), within nodes serial's
 *
 * For a recorded run c_r counts the bytes of all rounds before, of whatever kind, and what does not drain between
 * rounds stays in B_r, as in flow.
 *
 *   b, b_k  bytes of a message                    pattern.bytes              B
 *   m       payload of a segment, time stamps in  SEGMENT_BYTES              B     1500 - 20 - 20 - 12 (RFC 7323)
 *   w_1     window when slow start ends           SLOW_START_BYTES           B     2 * 10 m = 28,960 (RFC 6928)
 *   g       growth from there, of acknowledged    GROWTH                     -     1/20, CUBIC before its first loss
 *   3.18    windows that the buffer takes         BUFFER_WINDOWS             -     2 * 2304 / m
 *   4 MB    largest buffer                        LARGEST_BUFFER_BYTES       B     net.ipv4.tcp_wmem
 *   X_p(v)  packets of p's flows of more than v   flow.c, packets            B     turns: b_k / x(b_k) > v
 *   R       repetitions                           model_options.repetitions  -
 *
 * Slow start doubles the first window once and has ended by then where NICs are shared, as round trips are longer than
 * they were (HyStart: S. Ha and I. Rhee, Computer Networks 55(9), 2011; RFC 9406). CUBIC then grows a window by one
 * segment for 20 acknowledged (Linux, net/ipv4/tcp_cubic.c, bictcp_update: cnt 20). The kernel makes the buffer two
 * windows large, 2 * cwnd * per_mss (Linux, net/ipv4/tcp_input.c, tcp_sndbuf_expand); per_mss is a segment with its
 * headers, rounded up to a power of two, 2048, and its sk_buff, 256. Since segments are coalesced, nearly all of that
 * holds payload. A kernel with room for WLAN headers in MAX_TCP_HEADER has per_mss 4352 and takes 6 windows. Packets
 * for the NIC, which takes them apart, have up to 64 KB, 45 segments, but no more than half a window
 * (net/ipv4/tcp_output.c, tcp_cwnd_test), and no third one of a connection is queued (tcp_small_queue_check).
 *
 * From r = 7 on 3.18 g r > 1: the kernel takes what it can at once where it has drained what was before. One or three
 * first windows instead of two changed the median T11 of twelve irregular patterns by 0.5 points at most, on five
 * recordings. On these and four more the medians are 10.3 to 12.9 %, 0.5 points less in the mean than with even
 * service; with x of each r instead of the middle one's a tenth of a point less. The form of x was chosen with
 * recordings of that testbed in view, and there ranks met at a barrier between rounds, so that buffers had drained.
 *
 * Domain: as flow's, over TCP without losses, with frames of 1,500 bytes: there is no `buffer` to measure. Limits:
 * flow's; every message has the window of a connection of its own; windows do not slow down what they let through. Both
 * of these were in a simulation of the connections packet by packet, with slow start, HyStart, CUBIC and the queues of
 * the NICs. On those five recordings its median T11 was 10.0 to 13.0 %, the formula's 10.3 to 11.7 %, and it took 30
 * times as long: it is not kept. Cost: flow's, and O(M) for each r that is looked at. Papers are named as in
 * share/doc/MODELS.md. */
#include "predictor/models/flow.h"
#include "predictor/models/model.h"

#define SEGMENT_BYTES        1448.
#define SLOW_START_BYTES     (2 * 10 * SEGMENT_BYTES)
#define GROWTH               (1 / 20.)
#define BUFFER_WINDOWS       (2 * 2304 / SEGMENT_BYTES)
#define LARGEST_BUFFER_BYTES ((double)(4 << 20))
#define PACKET_WINDOWS       (1 / 2.)
#define LARGEST_PACKET_BYTES (45 * SEGMENT_BYTES)

const struct flow_limit flow_window_packet = {PACKET_WINDOWS * SLOW_START_BYTES, PACKET_WINDOWS *GROWTH,
                                              LARGEST_PACKET_BYTES};
const struct flow_limit flow_window_buffer = {BUFFER_WINDOWS * SLOW_START_BYTES, BUFFER_WINDOWS *GROWTH,
                                              LARGEST_BUFFER_BYTES};

static void predict_flow_window(const struct model_input *input, struct prediction *prediction)
{
    const struct flow_transport tcp = {.packet = flow_window_packet,
                                       .buffer = flow_window_buffer,
                                       .repetitions = input->options->repetitions > 0 ? input->options->repetitions
                                                                                      : DEFAULT_REPETITIONS};
    flow_predict(&tcp, STAIRCASE_IN_TURN, input, prediction);
}

const struct model flow_window_model = {.name = "flow-window",
                                        .summary = "flow with the send buffers and windows of TCP",
                                        .latency_side = true,
                                        .repeats = true,
                                        .by_node = true,
                                        .staircases = STAIRCASE_BIT(STAIRCASE_IN_TURN),
                                        .predict = predict_flow_window};

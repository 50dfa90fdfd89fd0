/* flow-window: flow over TCP, whose send buffers grow with what a connection has carried.
 *
 * Ours: what flow-tcp simulates, as a formula. There a send is over when the kernel has taken its last byte; it
 * takes 3.18 windows (tcp_window.c has the sources of all constants), and a window, which is kept from one repetition
 * to the next, has grown with what was acknowledged:
 *
 *   B_r(b) = min(3.18 (w_1 + g r b), 4 MB)      r = 0, 1, ..., R - 1
 *   T_i    = the mean over r of flow's T_i with B = B_r(b_k)
 *
 *   b, b_k  bytes of a message                                    pattern.bytes             B
 *   w_1     two first windows: slow start doubles it once, and    -                         B     28,960
 *           has ended by then where NICs are shared, as round
 *           trips are longer than they were
 *   g       growth from there, of what is acknowledged            tcp_constants.growth      -     1/20
 *   R       repetitions                                           model_options.repetitions -
 *
 * From r = 7 on 3.18 g r > 1: the kernel takes what it can at once, and nothing changes any more. One or three first
 * windows instead of two changed the median T11 of twelve irregular patterns by 0.5 points at most, on five recordings.
 *
 * Domain: as flow's, over TCP: there is no `buffer` to measure. Limits: flow's; every message has the window of a
 * connection of its own; windows do not slow down what they let through (flow-tcp has both). Cost: flow's, and O(M) for
 * each r whose largest message does not fit. */
#include <math.h>

#include "flow.h"
#include "models.h"
#include "tcp_window.h"

/* The buffers of all repetitions; those that are alike together. */
static void find_buffers(const struct tcp_constants *tcp, size_t repetitions, double largest_bytes,
                         struct flow_buffers *buffers)
{
    *buffers = (struct flow_buffers){0};
    for (size_t r = 0; r < repetitions;) {
        struct flow_buffer buffer = {.bytes = tcp->buffer_windows * 2 * tcp->initial_bytes,
                                     .share = tcp->buffer_windows * tcp->growth * (double)r,
                                     .most_bytes = tcp->largest_bytes};
        bool all_at_once = fmin(buffer.bytes + buffer.share * largest_bytes, buffer.most_bytes) >= largest_bytes;
        bool last = all_at_once || buffer.share >= 1 || buffers->n + 1 == FLOW_BUFFERS;
        size_t alike = last ? repetitions - r : 1;
        buffer.weight = (double)alike / (double)repetitions;
        buffers->buffer[buffers->n++] = buffer;
        r += alike;
    }
}

static int predict(const struct pattern *pattern, const struct placement *placement, const struct machine *machine,
                   const struct model_options *options, struct prediction *prediction, struct error *error)
{
    uint64_t largest = 0;
    struct flow_buffers buffers;
    for (size_t k = 0; k < pattern->n_messages; k++)
        if (pattern->bytes[k] > largest && placement->node[pattern->src[k]] != placement->node[pattern->dst[k]])
            largest = pattern->bytes[k];
    find_buffers(&tcp_linux, options->repetitions > 0 ? options->repetitions : DEFAULT_REPETITIONS, (double)largest,
                 &buffers);
    return flow_predict(&buffers, pattern, placement, machine, options, prediction, error);
}

const struct model flow_window_model = {.name = "flow-window",
                                        .source = "ours: flow, TCP's send buffers, T12-T18",
                                        .latency_side = true,
                                        .repeats = true,
                                        .predict = predict};

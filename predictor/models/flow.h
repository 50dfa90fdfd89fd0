/* Shares the model flow with its variants, which differ in two ways. Buffers, what the transport takes of a message
 * before it moves, grow with what a connection has carried and may be full when a round begins. NICs serve flows in
 * turn, in packets that are not all alike. flow.c has the model. */
#ifndef MPISTAIR_PREDICTOR_FLOW_H
#define MPISTAIR_PREDICTOR_FLOW_H

#include <math.h>

#include "predictor/models/staircase.h"

/* Describes a limit that grows with what a connection has carried: min(bytes + growth * carried, most_bytes). */
struct flow_limit {
    double bytes;
    double growth;
    double most_bytes;
};

static inline double flow_limited(const struct flow_limit *limit, double carried)
{
    return fmin(limit->bytes + limit->growth * carried, limit->most_bytes);
}

/* TCP's, of flow-window. */
extern const struct flow_limit flow_window_packet, flow_window_buffer;

struct flow_transport {
    struct flow_limit packet; /* what a NIC serves of a flow in its turn, more than 0 */
    struct flow_limit buffer;
    size_t repetitions; /* how often the round is repeated, at least 1 */
};

/* Orders the messages between nodes by the node of their receivers (INCOMING) and of their senders (OUTGOING), as
 * grouping_init numbers nodes: [DIRECTION_COUNT], for flow_orders_release. n_threads: as of side_by_side. */
struct size_order *flow_orders(const struct traffic *traffic, const struct placement *placement, size_t n_threads);
void flow_orders_release(struct size_order *orders);

/* Predicts the mean over the repetitions; messages within nodes follow that staircase (STAIRCASE_WITHIN or _IN_TURN).
 * Arguments are as of model.predict. */
void flow_predict(const struct flow_transport *transport, size_t within, const struct model_input *input,
                  struct prediction *prediction);

#endif

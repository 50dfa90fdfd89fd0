/* The model flow with buffers, what the transport takes of a message before it moves, that grow with what a connection
 * has carried and are full or not when a round begins; and with NICs that serve flows in turn, in packets that are not
 * all alike. flow.c has the model. */
#ifndef MPISTAIR_PREDICTOR_FLOW_H
#define MPISTAIR_PREDICTOR_FLOW_H

#include "predictor/models/staircase.h"

/* Grows with what a connection has carried: min(bytes + growth * carried, most_bytes). */
struct flow_limit {
    double bytes;
    double growth;
    double most_bytes;
};

struct flow_transport {
    struct flow_limit packet; /* what a NIC serves of a flow in its turn, more than 0 */
    struct flow_limit buffer;
    size_t repetitions; /* of the round, at least 1 */
};

/* As model.predict: the mean over the repetitions; within nodes the staircase, with that service. */
int flow_predict(const struct flow_transport *transport, enum service within, const struct pattern *pattern,
                 const struct placement *placement, const struct machine *machine, const struct model_options *options,
                 struct prediction *prediction, struct error *error);

#endif

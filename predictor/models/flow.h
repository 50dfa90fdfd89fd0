/* The model flow with several buffers, what the transport takes of a message before it moves, where that is not the
 * same in every repetition; and with NICs that serve flows in turn, in packets that are not all alike. flow.c has the
 * model. */
#ifndef MPISTAIR_PREDICTOR_FLOW_H
#define MPISTAIR_PREDICTOR_FLOW_H

#include "staircase.h"

enum { FLOW_BUFFERS = 8 };

/* Of a message of b bytes: min(bytes + share * b, most_bytes). */
struct flow_limit {
    double bytes;
    double share;
    double most_bytes;
};

struct flow_buffer {
    struct flow_limit taken;
    double weight; /* of its repetitions among all: the weights add up to 1 */
};

struct flow_buffers {
    struct flow_limit packet; /* what a NIC serves of a flow in its turn, more than 0 */
    size_t n;                 /* at least 1 */
    struct flow_buffer buffer[FLOW_BUFFERS];
};

/* As model.predict: the mean over the buffers; within nodes the staircase, with that service. */
int flow_predict(const struct flow_buffers *buffers, enum service within, const struct pattern *pattern,
                 const struct placement *placement, const struct machine *machine, const struct model_options *options,
                 struct prediction *prediction, struct error *error);

#endif

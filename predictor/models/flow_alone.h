/* Splits what ranks wait for in flow into bandwidth and contention, as models/critical.h says. */
#ifndef MPISTAIR_PREDICTOR_FLOW_ALONE_H
#define MPISTAIR_PREDICTOR_FLOW_ALONE_H

#include "predictor/models/critical.h"
#include "predictor/models/flow_limit.h"

/* Holds what ranks wait for last, at so many points of a run of repetitions. */
struct flow_waits {
    const struct traffic *traffic;
    const uint32_t *node_of;         /* [n_ranks] */
    const struct flow_limit *packet; /* bytes of a message in one turn of a NIC */
    size_t n_points;
    const struct critical *latest; /* [n_ranks][n_points] way is a flow_link, bytes are turns */
};

/* Returns what the rank's own bytes would take alone over the NIC that it waits for, as far as they are through, in s:
 * [n_ranks][n_points], which the caller frees; NULL without memory. */
double *flow_alone(const struct flow_waits *waits);

#endif

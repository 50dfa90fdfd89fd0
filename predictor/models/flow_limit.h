/* Holds what flow and its parts share: limits that grow, and the numbers of links. */
#ifndef MPISTAIR_PREDICTOR_FLOW_LIMIT_H
#define MPISTAIR_PREDICTOR_FLOW_LIMIT_H

#include <math.h>

#include "predictor/pattern/traffic.h"

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

/* Numbers a direction of a node's NIC. */
static inline uint32_t flow_link(uint32_t node, enum direction direction)
{
    return 2 * node + (direction == OUTGOING ? 1 : 0);
}

#endif

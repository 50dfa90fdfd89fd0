/* The clocks of nodes against each other, measured by one rank a node. */
#ifndef MPISTAIR_BACKEND_CLOCK_LINK_H
#define MPISTAIR_BACKEND_CLOCK_LINK_H

#include "interpose/spool/event.h"
#include "interpose/backend/process/run.h"

/* Measures this leader's clock against that of its parent in the binary tree of leaders, and serves its children.
 * To be called by all leaders (run->rank is in run->leaders). Bounded: about 10 ms a link, 60 ms where round trips
 * are bad, and the depth of the tree times twice that in all. */
struct spool_clock_link clock_link_measure(const struct run *run);

#endif

/* Measures the clocks of nodes against each other, by one rank on each node. */
#ifndef MPISTAIR_BACKEND_CLOCK_LINK_H
#define MPISTAIR_BACKEND_CLOCK_LINK_H

#include "interpose/spool/event.h"
#include "interpose/backend/run/run.h"

/* Measures this leader's clock against that of its parent in the binary tree of leaders, and serves its children. All
 * leaders must call it (run->rank is in run->leaders). Takes about 10 ms a link, 60 ms where round trips are bad, and
 * at most twice that for each level of the tree. */
struct spool_clock_link clock_link_measure(const struct run *run);

#endif

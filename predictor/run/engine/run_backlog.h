/* What stands before a network card, and how long others wait for it. */
#ifndef MPISTAIR_PREDICTOR_RUN_BACKLOG_H
#define MPISTAIR_PREDICTOR_RUN_BACKLOG_H

#include "predictor/run/engine/simulation_state.h"

/* Says whether the queues of network cards count. */
bool backlog_counts(const struct simulation *sim);
/* Returns how long what is sent from one rank to another waits for the network card of its node, as things are now.
 * Sets behind to the transfer of the same ranks that it stands behind until that is through, RUN_NOBODY without one. */
double backlog_s(struct simulation *sim, uint32_t src, uint32_t dst, uint32_t *behind);

#endif

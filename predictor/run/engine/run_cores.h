/* Processors that ranks share where they outnumber them. */
#ifndef MPISTAIR_PREDICTOR_RUN_CORES_H
#define MPISTAIR_PREDICTOR_RUN_CORES_H

#include "predictor/run/engine/simulation_state.h"

void cores_init(struct simulation *sim);
/* Gives every strand of a burst on a crowded machine a core: the first one of each rank the recorded one, then all
 * others. */
void cores_assign(struct simulation *sim, uint32_t burst);
void cores_release(struct simulation *sim);
/* Lets a strand go on where it was recorded at a step. */
void cores_move(struct simulation *sim, uint32_t strand, uint16_t processor);
/* Gives a strand that begins its core, whoever else has it. */
void cores_take(struct simulation *sim, uint32_t strand);
/* Lets the next one have the core, as the strand must wait or has ended. */
void cores_leave(struct simulation *sim, uint32_t strand);
/* Says whether a strand whose wait is over must wait for its core; then it goes on by itself. */
bool cores_await(struct simulation *sim, uint32_t strand);
/* Says whether a strand may have to wait for a core. */
bool cores_are_shared(const struct simulation *sim, uint32_t strand);
bool cores_have(const struct simulation *sim, uint32_t strand);
/* Lets a strand that waits in MPI have its core, for messages, when its turn comes; EVENT_TURN says so. */
void cores_want(struct simulation *sim, uint32_t strand);
void cores_turn(struct simulation *sim, uint32_t strand);
/* Lets a strand compute for so long of a core that others may share. Returns false where it has one for itself, or its
 * computation holds that of others. */
bool cores_compute(struct simulation *sim, uint32_t strand, double seconds);
/* Returns how long the strand took, or -1 where it is not done yet. */
double cores_computed(struct simulation *sim, uint32_t strand);

#endif

/* Collectives of recorded length, and those that go by messages. */
#ifndef MPISTAIR_PREDICTOR_RUN_COLLECTIVE_H
#define MPISTAIR_PREDICTOR_RUN_COLLECTIVE_H

#include "predictor/run/engine/simulation_state.h"

void collectives_init(struct simulation *sim);
void collectives_release(struct simulation *sim);
/* Says whether the collective is one that goes by messages. */
bool collective_is_modelled(const struct simulation *sim, uint32_t collective);
void member_arrives(struct simulation *sim, uint32_t member);
/* Says whether the member may leave; else the strand is told when it may. */
bool member_await(struct simulation *sim, uint32_t member, uint32_t strand);
/* Handles EVENT_MEMBER: a member leaves, or makes its next post. */
void member_event(struct simulation *sim, uint32_t member);
/* Is simulation.collective_message_complete: an end of a message of a modelled collective is complete. */
void collective_message_complete(struct simulation *sim, uint32_t message, enum run_operation_kind side, double rest);

#endif

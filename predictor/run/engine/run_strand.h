/* The threads of all ranks: each goes through its steps until it must wait for something. */
#ifndef MPISTAIR_PREDICTOR_RUN_STRAND_H
#define MPISTAIR_PREDICTOR_RUN_STRAND_H

#include "predictor/run/engine/simulation_state.h"

/* Puts every strand of a burst at its begin; the burst before is over. */
void strands_begin(struct simulation *sim, uint32_t burst);
/* Handle EVENT_STRAND, EVENT_TURN. */
void strand_event(struct simulation *sim, uint32_t strand);
void strand_turn_event(struct simulation *sim, uint32_t strand);
/* Are simulation.message_complete, member_complete. */
void strand_message_complete(struct simulation *sim, uint32_t message, enum run_operation_kind side, double rest);
void strand_member_complete(struct simulation *sim, uint32_t member, double last_s, const struct run_moment *last);
/* Are simulation.rank_wanted, rank_unwanted. */
void strands_wanted(struct simulation *sim, uint32_t rank);
void strands_unwanted(struct simulation *sim, uint32_t rank);

#endif

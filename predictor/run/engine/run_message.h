/* Messages of the program and of modelled collectives on their way, from their posts to their ends. */
#ifndef MPISTAIR_PREDICTOR_RUN_MESSAGE_H
#define MPISTAIR_PREDICTOR_RUN_MESSAGE_H

#include "predictor/run/engine/simulation_state.h"

void simulation_classify(struct simulation *sim);
/* Return what a message is, of the program or of a modelled collective, and its state, which is valid until the next
 * message of a collective begins. */
const struct run_message *message_told(const struct simulation *sim, uint32_t message);
struct message_state *message_state(const struct simulation *sim, uint32_t message);
/* Returns the class of a message, RUN_NO_CLASS within a rank. Where the machine lacks its level, the replay ends. */
uint8_t message_class(struct simulation *sim, const struct run_message *message);
bool message_is_rendezvous(const struct simulation *sim, uint32_t message);
/* Takes note of a post that follows, where queues are searched. Returns for how long the rank searches. */
double message_search(struct simulation *sim, uint32_t message, enum run_operation_kind side);
void message_post(struct simulation *sim, uint32_t message, enum run_operation_kind side);
/* Says whether that end is complete; else the strand is told when it is. */
bool message_await(struct simulation *sim, uint32_t message, enum run_operation_kind side, uint32_t strand);
/* Returns when a probe sees the message, or NaN: then the strand goes on by itself. */
double message_seen_s(struct simulation *sim, uint32_t message, uint32_t strand);
/* Lets a message, or its announcement, arrive at a rank that searches its queues. */
void message_arrives(struct simulation *sim, uint32_t message);

/* Handles EVENT_TRANSFER. */
void transfer_event(struct simulation *sim, uint32_t transfer);
/* Takes a mark that run_share_take gave. */
void transfer_mark(struct simulation *sim, uint32_t mark);
/* Returns how long it has stopped for want of a rank inside MPI. */
double transfer_stalled_s(const struct simulation *sim, const struct transfer *transfer);
/* Says whether a message has a handshake that is made step by step. */
bool handshake_has_steps(const struct simulation *sim, uint32_t message);
/* Returns the latency of a step. */
double handshake_step_s(const struct simulation *sim, const struct transfer *transfer);

/* Lets messages that need a rank move or stop, as it has entered or left MPI, got or lost a processor there. */
void rank_changes(struct simulation *sim, uint32_t rank);
/* Says whether a message needs the rank's processor, or will once the rank has it. */
bool rank_copies(const struct simulation *sim, uint32_t rank);
/* Lets a rank that begins to wait take what has arrived. */
void rank_polls(struct simulation *sim, uint32_t rank);

#endif

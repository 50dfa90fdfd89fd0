/* What a wait consisted of (share/doc/MODELS.md, Whole run, Where the time goes). */
#ifndef MPISTAIR_PREDICTOR_RUN_ACCOUNT_H
#define MPISTAIR_PREDICTOR_RUN_ACCOUNT_H

#include "predictor/run/engine/simulation_state.h"

/* Divides the strand's wait, which ends now with that end of the message, of which `rest` bytes are left. */
struct wait_parts account_message(const struct simulation *sim, const struct strand *strand, uint32_t message,
                                  enum run_operation_kind side, double rest);
/* Divides one that ends now with a collective, of which the last arrival was at last_s. */
struct wait_parts account_member(const struct simulation *sim, const struct strand *strand, double last_s,
                                 const struct run_moment *last);
void account_wait(struct simulation *sim, uint32_t place, const struct wait_parts *parts);

#endif

/* Replays a recorded run through the models: one round of every kind, as it was recorded, is predicted and stored in
 * the trace. */
#ifndef MPISTAIR_PREDICTOR_REPLAY_H
#define MPISTAIR_PREDICTOR_REPLAY_H

#include "predictor/replay/replay_with.h"

/* Holds what the user should know of the result. */
struct replay_summary {
    size_t n_kinds;
    size_t n_messages;     /* messages of one round of each kind */
    size_t socket_unknown; /* ranks that are taken as on socket 0 of their node */
    size_t moved;          /* messages recorded at another level than the places of their ranks give */
    size_t *extrapolated;  /* [n_models], the caller's: values beyond the bandwidth tables, summed over kinds */
};

/* Stores the machine and the predictions, in one transaction; those of the same machine, model and options are
 * replaced. A kind has rows only of ranks that take part in it. Returns 0, or -1 with the reason and the database
 * unchanged. */
int replay_run(const struct replay *replay, struct replay_summary *summary, struct error *error);

#endif

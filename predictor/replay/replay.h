/* Replays a recorded run through the models: one round of every kind, as it was recorded, is predicted and stored in
 * the trace. */
#ifndef MPISTAIR_PREDICTOR_REPLAY_H
#define MPISTAIR_PREDICTOR_REPLAY_H

#include <sqlite3.h>

#include "predictor/terms/interval.h"

/* Says with what a recorded run is replayed. Borrows all that it names. */
struct replay {
    sqlite3 *database;
    const char *path; /* names the database in messages */
    const struct machine *machine;
    const struct placement *placement; /* NULL: the recorded places */
    const struct model_choice *models; /* [n_models] */
    size_t n_models;
    const struct model_options *options;
    const struct machine_draws *draws; /* for intervals, or NULL: none are stored */
};

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

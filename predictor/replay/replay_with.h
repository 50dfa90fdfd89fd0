/* Says with what a recorded run is replayed. */
#ifndef MPISTAIR_PREDICTOR_REPLAY_WITH_H
#define MPISTAIR_PREDICTOR_REPLAY_WITH_H

#include <sqlite3.h>

#include "predictor/terms/interval.h"

/* Borrows all that it names. */
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

#endif

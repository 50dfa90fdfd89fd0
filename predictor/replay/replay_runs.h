/* Fills the table prediction_run: one row for each model, opened before its predictions are stored. */
#ifndef MPISTAIR_PREDICTOR_REPLAY_RUNS_H
#define MPISTAIR_PREDICTOR_REPLAY_RUNS_H

#include "predictor/replay/replay_with.h"

/* Runs one statement, with the machine and, if model is not NULL, model and options as parameters 1 to 3, then n as the
 * 4th. Returns 0, or -1 with the reason. */
int replay_execute(const struct replay *replay, const char *sql, const struct model_choice *model, sqlite3_int64 n,
                   struct error *error);
/* Replaces the prediction_run of every model; their ids go into run_ids[n_models]. Returns as replay_execute does. */
int replay_open_runs(const struct replay *replay, sqlite3_int64 *run_ids, struct error *error);
/* Stores extrapolated[n_models]. Returns as replay_execute does. */
int replay_close_runs(const struct replay *replay, const size_t *extrapolated, struct error *error);

#endif

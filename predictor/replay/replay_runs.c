/* Predictions of the same machine, model and options replace earlier ones, so their runs are opened before anything is
 * stored. See replay_runs.h. */
#include "predictor/replay/replay_runs.h"

#include "interpose/database/database.h"

int replay_execute(const struct replay *replay, const char *sql, const struct model_choice *model, sqlite3_int64 n,
                   struct error *error)
{
    sqlite3_stmt *statement = NULL;
    struct model_options_text text;
    int result = 0;
    bool ready = sqlite3_prepare_v2(replay->database, sql, -1, &statement, NULL) == SQLITE_OK;
    if (ready && model != NULL) {
        sqlite3_bind_text(statement, 1, replay->machine->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, model->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, model_options_text(model, replay->options, &text), -1, SQLITE_TRANSIENT);
        sqlite3_bind_int64(statement, 4, n);
    }
    if (!ready || sqlite3_step(statement) != SQLITE_DONE)
        result = database_error(replay->database, replay->path, "predictions cannot be stored", error);
    sqlite3_finalize(statement);
    return result;
}

int replay_open_runs(const struct replay *replay, sqlite3_int64 *run_ids, struct error *error)
{
    for (size_t m = 0; m < replay->n_models; m++) {
        if (replay_execute(
                replay,
                "DELETE FROM prediction WHERE run_id IN (SELECT id FROM prediction_run WHERE machine = ?1 AND "
                "model = ?2 AND options = ?3)",
                &replay->models[m], 0, error) != 0 ||
            replay_execute(replay, "DELETE FROM prediction_run WHERE machine = ?1 AND model = ?2 AND options = ?3",
                           &replay->models[m], 0, error) != 0 ||
            replay_execute(replay,
                           "INSERT INTO prediction_run(machine, model, options, extrapolated) VALUES (?1, ?2, ?3, ?4)",
                           &replay->models[m], 0, error) != 0)
            return -1;
        run_ids[m] = sqlite3_last_insert_rowid(replay->database);
    }
    return 0;
}

int replay_close_runs(const struct replay *replay, const size_t *extrapolated, struct error *error)
{
    for (size_t m = 0; m < replay->n_models; m++)
        if (replay_execute(
                replay,
                "UPDATE prediction_run SET extrapolated = ?4 WHERE machine = ?1 AND model = ?2 AND options = ?3",
                &replay->models[m], (sqlite3_int64)extrapolated[m], error) != 0)
            return -1;
    return 0;
}

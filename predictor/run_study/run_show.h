/* Shows a study: text for people, CSV and JSON with the digits that give back the same double; and stores it. Papers
 * are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_PREDICTOR_RUN_SHOW_H
#define MPISTAIR_PREDICTOR_RUN_SHOW_H

#include "interpose/database/cursor.h"
#include "predictor/run_study/run_messages.h"
#include "predictor/run_study/run_study.h"
#include "share/base/json.h"

/* Returns the T eq. 11 error of the time inside MPI by rank, as a share; NaN without measured time, and where none of
 * it is predicted. */
double run_mpi_error(const struct run_study *study);
/* Returns what is said of a study that predicts nothing. */
const char *run_copied(const struct run_study *study);

/* Writes the study to the stream, in the format of its options; the database knows the names of its call sites. Returns
 * 0, or -1 with the reason. */
int run_show(FILE *stream, sqlite3 *database, const struct run_study *study, struct error *error);

/* Stores the run as it is, not a what-if, in the trace in one transaction; what was stored of the same machine, law,
 * collectives, window and places is replaced. The database is open for writing. Returns 0, or -1 with the reason and
 * nothing stored. */
int run_store(sqlite3 *database, const struct run_study *study, struct error *error);
/* Deletes the runs for which the condition on replay_run holds, whose parameters have these values, with all that is
 * stored of them. Returns 0, or -1 with the reason. */
int run_forget(sqlite3 *database, const char *path, const char *where, const char *const *values, int n_values,
               struct error *error);
/* Inserts the rows of message_time of a run of replay_run, inside a transaction. Returns 0, or -1 where the database
 * says why. */
int run_store_messages(sqlite3 *database, const struct run_program *program, const struct run_messages *messages,
                       const struct run_parts *predicted, int64_t id);

/* Inserts the rows of message_window of a run, likewise: errors[RUN_WINDOWS]. */
int run_store_windows(sqlite3 *database, const char *path, const struct run_program *program,
                      const struct run_window_error *errors, int64_t id);

/* Say how many bursts are known, and their share of the run, where that is not all of it. */
void run_show_bursts(FILE *stream, const struct run_program *program);
void run_bursts_json(struct json *object, const struct run_program *program);

#endif

/* Shows a study: text for people, CSV and JSON with the digits that give back the same double; and stores it. Papers
 * are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_PREDICTOR_RUN_SHOW_H
#define MPISTAIR_PREDICTOR_RUN_SHOW_H

#include "interpose/database/cursor.h"
#include "predictor/run_study/run_messages.h"
#include "predictor/run_study/run_study.h"
#include "share/base/json.h"

/* Names the quantities of `rank,quantity,measured_s,predicted_s` in their order. NaN: not known, or not divided. The
 * last one, not_recorded, is shown where there is any. */
enum { RUN_QUANTITIES = 15 };
struct run_quantity {
    const char *name;
    double measured_s, predicted_s;
};
/* Fills the quantities of a rank, or of the run (rank SIZE_MAX); predicted NULL: those of study->before. */
void run_quantities(const struct run_study *study, const struct run_side *side, size_t rank,
                    struct run_quantity quantities[RUN_QUANTITIES]);

bool run_quantity_is_shown(const struct run_quantity *quantity);

/* Returns the T eq. 11 error of the time inside MPI by rank, as a share; NaN without measured time, and where none of
 * it is predicted. */
double run_mpi_error(const struct run_study *study);
/* Returns what is said of a study that predicts nothing. */
const char *run_copied(const struct run_study *study);

/* Holds "MPI_Wait at exchange halo.c:42" for each site: [n_sites], in the pool. */
struct run_names {
    struct pool *pool;
    const char **of_site;
};
int run_names_read(sqlite3 *database, const struct run_study *study, struct pool *pool, struct run_names *names,
                   struct error *error);

/* Write to the stream; JSON returns 0, or -1 with the reason. */
void run_show_text(FILE *stream, const struct run_study *study, const struct run_names *names);
void run_show_csv(FILE *stream, const struct run_study *study);
int run_show_json(FILE *stream, const struct run_study *study, const struct run_names *names, struct error *error);

/* Lists places by what they are worth: order[0 ..] of at most `most`, the largest first, without those of 0. Returns
 * how many. */
size_t run_largest(const double *value_s, size_t n_places, size_t *order, size_t most);

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

/* Say how many bursts are known, and their share of the run, where that is not all of it. */
void run_show_bursts(FILE *stream, const struct run_program *program);
void run_bursts_json(struct json *object, const struct run_program *program);

#endif

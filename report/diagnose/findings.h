/* Collects the findings of a trace, in the order of what mending them gains. */
#ifndef MPISTAIR_REPORT_FINDINGS_H
#define MPISTAIR_REPORT_FINDINGS_H

#include <sqlite3.h>

#include "interpose/database/cursor.h"
#include "predictor/run/engine/simulate.h"
#include "predictor/run_read/run_read.h"
#include "report/diagnose/finding.h"
#include "report/diagnose/pair_sums.h"
#include "share/base/error.h"

/* What is read of a trace while its program is: run_program_read tells it. */
struct findings_watch {
    struct pair_sums pairs;
    struct run_timed_calls calls;
    size_t n_steps; /* of the calls so far */
    struct run_message_watch messages;
    struct run_watch watch;
};

/* Returns 0, or -1 with the reason; findings_watch_release in either case. The watch must stay where it is. */
int findings_watch_init(struct findings_watch *watch, sqlite3 *database, const char *path, struct error *error);
void findings_watch_release(struct findings_watch *watch);

/* Fills *findings, which must be empty, from an open trace; texts are the pool's. A trace in which nothing was recorded
 * has none. Returns 0, or -1 with the reason, such as a damaged trace; findings_release in either case. */
int findings_collect(struct findings *findings, struct pool *pool, sqlite3 *database, struct error *error);
/* Does the same from what run_program_read has read of that trace, and has told the watch; program and
 * recorded are taken over and empty then. */
int findings_collect_read(struct findings *findings, struct pool *pool, sqlite3 *database, struct run_program *program,
                          struct simulation_result *recorded, struct findings_watch *watch, struct error *error);
void findings_release(struct findings *findings);

#endif

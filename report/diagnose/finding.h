/* Findings: what a run lost time to, in one sentence each: which rank, which line, how much.
 *
 * All findings come from recorded times, without a machine table. What is below FINDING_LEAST_SHARE of all ranks' time,
 * or may as well be by chance, is not reported. */
#ifndef MPISTAIR_REPORT_FINDING_H
#define MPISTAIR_REPORT_FINDING_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/database/cursor.h"
#include "predictor/run/engine/simulate.h"
#include "report/diagnose/pair_sums.h"
#include "share/base/error.h"

#define FINDING_LEAST_SHARE 0.03

enum finding_kind {
    FINDING_LATE_RANK,      /* one rank, or few, for which the others wait */
    FINDING_LATE_SITE,      /* one call site that is reached late, whichever rank runs it */
    FINDING_SLOW_LINK,      /* messages of a node, or between two, take longer than like ones elsewhere */
    FINDING_IMBALANCE,      /* computation is divided unevenly among the ranks */
    FINDING_SMALL_MESSAGES, /* many small messages that could be few large ones */
    FINDING_PLACEMENT,      /* partners are on different nodes without need */
    FINDING_BUSY_PROCESSORS /* ranks waited for processors that others had */
};
enum { FINDING_KIND_COUNT = FINDING_BUSY_PROCESSORS + 1 };

struct finding {
    enum finding_kind kind;
    int64_t rank, partner;        /* -1: none; of a slow link the lowest of the nodes it leads from and to */
    double cost_s;                /* ranks' time that it took, or, for what could be better, may have taken at most */
    double share;                 /* of all ranks' time */
    const char *function, *place; /* MPI's, and "caller file:line"; "": none */
    const char *sentence; /* one plain sentence, without a stop; at most 160 characters for names of usual length */
};

struct findings {
    struct finding *rows; /* [n], costliest first */
    size_t n;
};

/* Fills *findings, which must be empty, from an open trace; texts are the pool's. A trace in which nothing was recorded
 * has none. Returns 0, or -1 with the reason, such as a damaged trace; findings_release in either case. */
int findings_collect(struct findings *findings, struct pool *pool, sqlite3 *database, struct error *error);
/* Does the same from what run_program_read_recorded has read of that trace; program and recorded are taken over and
 * empty then. pairs: filled meanwhile. */
int findings_collect_read(struct findings *findings, struct pool *pool, sqlite3 *database, struct run_program *program,
                          struct simulation_result *recorded, struct pair_sums *pairs, struct error *error);
void findings_release(struct findings *findings);

/* Returns "late-rank", "late-site", "slow-link", "imbalance", "small-messages", "placement", "busy-processors". */
const char *finding_name(enum finding_kind kind);

#endif

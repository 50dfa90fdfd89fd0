/* Reads the evidence of a finding from its trace: the calls of its line, by rank and over time. */
#ifndef MPISTAIR_REPORT_EVIDENCE_H
#define MPISTAIR_REPORT_EVIDENCE_H

#include <sqlite3.h>

#include "interpose/database/cursor.h"
#include "report/diagnose/finding.h"
#include "share/base/error.h"

enum { EVIDENCE_COLUMNS = 60, EVIDENCE_RANKS = 8, EVIDENCE_CALLS = 5 };

/* The calls of a rank at the line. */
struct evidence_rank {
    int64_t rank, calls;
    double time_s, longest_s;
    double columns[EVIDENCE_COLUMNS]; /* share of each part of the run that is inside them */
};

struct evidence_call {
    int64_t rank;
    double begin_s, length_s;
};

struct evidence {
    struct evidence_rank *ranks; /* [n_ranks] the longest inside first, and the finding's own */
    size_t n_ranks, all_ranks;
    struct evidence_call calls[EVIDENCE_CALLS]; /* the longest */
    size_t n_calls;
    double run_s;
    const char *query; /* SQL that gives the calls; "": the finding has no line */
};

/* Fills *evidence; texts are the pool's. Returns 0, or -1 with the reason; evidence_release in either case. */
int evidence_collect(struct evidence *evidence, const struct finding *finding, struct pool *pool, sqlite3 *database,
                     const char *path, struct error *error);
void evidence_release(struct evidence *evidence);

#endif

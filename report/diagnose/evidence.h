/* Gathers the evidence of findings: the calls of their lines, by rank and over time. */
#ifndef MPISTAIR_REPORT_EVIDENCE_H
#define MPISTAIR_REPORT_EVIDENCE_H

#include <stddef.h>
#include <stdint.h>

enum { EVIDENCE_COLUMNS = 60, EVIDENCE_RANKS = 8, EVIDENCE_CALLS = 5 };

/* The calls of a rank at the line. */
struct evidence_rank {
    int64_t rank, calls;
    double time_s, longest_s;
    double columns[EVIDENCE_COLUMNS]; /* share of each part of the run that is inside them */
};

struct evidence_call {
    int64_t rank;
    double begin_s, length_s; /* begin: since that of the run */
};

struct evidence {
    struct evidence_rank ranks[EVIDENCE_RANKS]; /* [n_ranks] the longest inside first, and the finding's own */
    size_t n_ranks, all_ranks;
    struct evidence_call calls[EVIDENCE_CALLS]; /* the longest */
    size_t n_calls;
    const char *query; /* SQL that gives the calls */
};

struct diagnosis;

/* Sets the evidence of all findings that are of a line, in one pass over all calls. */
void evidence_collect(struct diagnosis *diagnosis);

#endif

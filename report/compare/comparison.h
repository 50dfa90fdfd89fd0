/* Compares the runs of one job (A) with those of another one, or of the same one later (B).
 *
 * What a call site adds to the run is the computation before its calls, and the time in them that is not spent waiting
 * for others. These are compared each for itself. A site that is slowed makes others wait elsewhere: that is shown and
 * never named as a cause. */
#ifndef MPISTAIR_COMPARE_COMPARISON_H
#define MPISTAIR_COMPARE_COMPARISON_H

#include "report/compare/noise.h"
#include "report/compare/profile.h"

enum comparison_table {
    COMPARISON_RUN,  /* one row: first MPI_Init to the last event */
    COMPARISON_KIND, /* computation, then enum profile_kind, then waiting */
    COMPARISON_SITE, /* the site on all ranks: the computation before its calls, and the calls */
    COMPARISON_CELL, /* the site on one rank; only where that is above noise */
    COMPARISON_RANK,
    COMPARISON_LEVEL,
    COMPARISON_TABLES
};
extern const char *const comparison_table_name[COMPARISON_TABLES]; /* run, kind, site, site on rank, rank, level */

/* Why a row has no noise. */
enum comparison_state {
    COMPARISON_TESTED,
    COMPARISON_SMALL,     /* too little time to matter */
    COMPARISON_FEW_CALLS, /* too few calls to know its noise from one run */
    COMPARISON_ONLY_A,
    COMPARISON_ONLY_B,
    COMPARISON_SHOWN, /* follows from the others: never above noise */
};

struct comparison_row {
    enum comparison_table table;
    enum comparison_state state;
    const char *name;                /* kind or level; of a site its function */
    const struct profile_site *site; /* of sites, else NULL */
    enum profile_part part;          /* of sites: the computation before the call, or the call */
    int64_t rank;                    /* -1: all */
    struct noise_result result;      /* undisturbed time, but of the run and of waiting */
    double total_s[2], wait_s[2];    /* A, B: means over the runs of all time, of waiting within it */
    double calls[2], bytes[2];       /* the same; bytes of levels, and that sites sent */
};

struct comparison_options {
    double floor;      /* what launches of one job differ by: this share of computation */
    double floor_call; /* and this one of time in calls */
};

struct comparison {
    const struct profile *profiles; /* [n_a + n_b], A first */
    size_t n_a, n_b;
    struct comparison_options options;
    struct comparison_row *rows; /* by table; sites by what they add, what is above noise first */
    size_t n_rows;
    size_t n_above;
};

/* Compares. The profiles stay the caller's and outlive the comparison. */
void comparison_make(struct comparison *comparison, const struct profile *profiles, size_t n_a, size_t n_b,
                     const struct comparison_options *options);
void comparison_release(struct comparison *comparison);

#endif

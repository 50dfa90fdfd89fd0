/* Holds what compare_runs.c adds up: a sum has a part for each run. */
#ifndef MPISTAIR_COMPARE_COMPARE_SUMS_H
#define MPISTAIR_COMPARE_COMPARE_SUMS_H

#include "report/compare/comparison.h"

struct run_sum {
    double span_s[PROFILE_SPANS]; /* undisturbed, of cells with enough calls in every run */
    double few_s;                 /* of the others, all of it */
    double floor_s;
    double total_s, wait_s, calls, bytes;
    bool present;
};

struct sum {
    struct run_sum *runs; /* [n_a + n_b] */
    size_t groups;        /* fewest calls of a cell, at most PROFILE_SPANS; 0: no cell has enough */
};

struct work_entry {
    const struct profile_cell *cell;
    uint32_t number; /* of the site in all runs */
    uint32_t run;
};

struct row_samples {
    struct noise_sample *samples; /* [n_a + n_b] */
    size_t groups;
};

enum { WORK_KINDS = PROFILE_KINDS + 2 }; /* computation before, waiting behind them */

struct comparison_work {
    struct comparison *comparison;
    double all_s; /* rank-seconds of the longest run */
    size_t n_runs, n_ranks;
    uint32_t **numbers;         /* match_sites */
    double *bytes;              /* [numbers * n_runs] */
    struct work_entry *entries; /* by number, rank, run */
    size_t n_entries;
    double floor_call; /* of time in calls, with what waiting for processors makes of it */
    struct sum *site[PROFILE_WAIT], *cell[PROFILE_WAIT]; /* computation before the call, the call */
    struct sum *kinds[WORK_KINDS], **ranks;              /* ranks[n_ranks] */
    struct sum *other;                                   /* of a level, of the run */
    struct row_samples *samples;                         /* [n_samples], as the rows of the comparison */
    size_t n_samples;
};

/* Matches sites, sorts cells, makes empty sums. */
void work_begin(struct comparison_work *work);
void work_end(struct comparison_work *work);

void sum_clear(const struct comparison_work *work, struct sum *sum);
/* Adds the entries of a site on a rank, [n], one a run that has it, to the cell, its site, kind and rank. */
void sum_add_cells(struct comparison_work *work, const struct work_entry *entries, size_t n);
/* Gives the calls of work->site the bytes of the sites of that number. */
void sum_add_bytes(struct comparison_work *work, uint32_t number);
/* Make work->other the sum of a level's messages, or of the run. */
void sum_of_level(struct comparison_work *work, int level);
void sum_of_run(struct comparison_work *work);

bool sum_is_empty(const struct comparison_work *work, const struct sum *sum);
/* Says whether the sum takes too small a part of the run to be named; one_rank: of a rank's time. */
bool sum_is_small(const struct comparison_work *work, const struct sum *sum, bool one_rank);
/* Fills in the state, totals, calls and bytes of a row. */
void sum_describe(const struct comparison_work *work, const struct sum *sum, struct comparison_row *row);
void sum_samples(const struct comparison_work *work, const struct sum *sum, struct noise_sample *samples);

#endif

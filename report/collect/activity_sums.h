/* Sums of a run from which its activities are shown: of each rank, and of each call site. */
#ifndef MPISTAIR_REPORT_ACTIVITY_SUMS_H
#define MPISTAIR_REPORT_ACTIVITY_SUMS_H

#include <stddef.h>
#include <stdlib.h>

#include "report/collect/report.h"

struct activity_rank {
    double time_s[SPENT_COUNT];
    double absent_share; /* as of struct run_rank */
};

struct activity_sums {
    struct activity_rank *ranks; /* [n_ranks], by the number of the rank */
    size_t n_ranks;
    struct report_call_site *sites; /* [n_sites], place not yet named */
    size_t n_sites;
    double run_s;
    double load_balance, communication, parallel; /* efficiencies; NaN: not known */
};

/* Releases the arrays; names are a pool's. */
static inline void activity_sums_release(struct activity_sums *sums)
{
    free(sums->ranks);
    free(sums->sites);
    *sums = (struct activity_sums){0};
}

#endif

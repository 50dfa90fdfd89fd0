/* Sums the recorded time of ranks and of places in the source while it is collected. */
#ifndef MPISTAIR_REPORT_ACTIVITY_SUMS_H
#define MPISTAIR_REPORT_ACTIVITY_SUMS_H

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
};

/* Finds the ranks out of line and fills report->activities with them: median and median deviation over all ranks; a
 * rank is out of line beyond five deviations and a tenth of the median rank's time, unless it waited for a processor
 * for half of the difference. Returns 0, or -1 without memory. */
int activity_find_out_of_line(struct report *report, const struct activity_sums *sums);

#endif

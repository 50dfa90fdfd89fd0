/* Sums what computation before the calls of one site costs the other ranks, by rank. */
#ifndef MPISTAIR_REPORT_SITE_SUMS_H
#define MPISTAIR_REPORT_SITE_SUMS_H

#include "report/diagnose/diagnosis.h"

/* The strong events are the costliest that together cost so much of all. */
#define SITE_STRONG 0.8

/* Holds a rank that calls the site. */
struct site_rank {
    uint32_t rank, place;
    double computed_s; /* before all its calls, as diagnosis_computed */
    double cost_s;     /* waiting of others */
    uint32_t strong;   /* its strong events */
    uint32_t late;     /* its events that cost at least a tenth of a strong one's mean */
};

struct site_sums {
    uint32_t site;
    double cost_s, computed_s;
    double direct_s; /* the longest waits for its events, added up */
    uint64_t calls, late;
    uint32_t strong;
    struct site_rank *ranks; /* [n_ranks] the costliest first */
    size_t n_ranks;
};

/* Looks for what a site's sums show; each adds its finding, and sets *found. Return 0, or -1 with the error set. */
int late_rank_find(struct diagnosis *diagnosis, const struct site_sums *sums, bool *found);
int imbalance_find(struct diagnosis *diagnosis, const struct site_sums *sums, bool *found);
/* like_calls, like_cost_s: those of other sites that post the same way. */
int late_site_find(struct diagnosis *diagnosis, const struct site_sums *sums, uint64_t like_calls, double like_cost_s);

#endif

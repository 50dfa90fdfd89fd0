/* Looks for places of the ranks that make a run faster, as a model judges. */
#ifndef MPISTAIR_PREDICTOR_PLACEMENT_SEARCH_H
#define MPISTAIR_PREDICTOR_PLACEMENT_SEARCH_H

#include "predictor/what_if/workload.h"

struct placement_search {
    const struct workload *workload; /* borrowed */
    struct workload_judge judge;
    double seconds; /* at most; the search ends earlier where nothing better is found */
    uint64_t seed;
};

struct placement_found {
    double start_s;       /* workload_times.total_s at the ranks' present places */
    double mapped_s;      /* time of the partitioner's placement; NaN: not to be predicted */
    double best_s;        /* <= start_s */
    uint64_t predictions; /* how many kinds of round were predicted */
    bool timed_out;       /* more time might have found more */
};

/* Fills best, a placement of the workload's ranks from placement_init, with the places of start, each as often as
 * there; start itself where nothing is better. Returns 0, or -1 with the reason: start cannot be predicted. */
int placement_search(const struct placement_search *search, const struct placement *start, struct placement *best,
                     struct placement_found *found, struct error *error);

#endif

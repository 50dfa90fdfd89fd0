/* Looks for places of the ranks that make the whole run faster, as its replay judges. */
#ifndef MPISTAIR_PREDICTOR_RUN_PLACEMENT_H
#define MPISTAIR_PREDICTOR_RUN_PLACEMENT_H

#include "predictor/run/engine/simulate.h"

struct run_placement_search {
    const struct run_program *program;
    const struct machine *machine;
    const struct simulation_options *options;
    double seconds; /* at most */
    uint64_t seed;
};

/* Fills `best`, of as many ranks as `start`, with the places of start, each as often as there. It tries the
 * arrangements by rule and the partitioner's, then exchanges the places of two ranks as long as that shortens the
 * run. Sets the run times before and after, best_s <= start_s, and how many replays it took. Returns 0, or -1 with
 * the reason: start cannot be replayed. */
struct run_placement_found {
    double start_s, best_s;
    size_t n_replays;
    bool timed_out;
};
int run_placement_search(const struct run_placement_search *search, const struct placement *start,
                         struct placement *best, struct run_placement_found *found, struct error *error);

#endif

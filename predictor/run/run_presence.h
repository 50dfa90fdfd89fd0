/* Sums over ranks that were not there all the time: what was spawned later, or ended earlier, counts for its time. */
#ifndef MPISTAIR_PREDICTOR_RUN_PRESENCE_H
#define MPISTAIR_PREDICTOR_RUN_PRESENCE_H

#include "predictor/run/run_program.h"

struct run_presence {
    double mean_s; /* of those that there were at a time */
    double most_s; /* of one, or of ranks that followed each other in one place; no less than mean_s */
};

/* seconds[n_ranks] is what each rank spent with something; it is changed. */
struct run_presence run_presence_of(const struct run_program *program, double *seconds);

#endif

/* Holds a run predicted as it is and as it would be: what_if_run.c makes it, show_what_if.c shows it. */
#ifndef MPISTAIR_PREDICTOR_WHAT_IF_H
#define MPISTAIR_PREDICTOR_WHAT_IF_H

#include "predictor/what_if/placement_search.h"
#include "predictor/options/predict_options.h"

/* Holds one side: what a run is predicted from. */
struct what_if_side {
    struct machine machine;
    struct placement placement;
    struct workload workload;
};

/* Holds both sides, and what the models make of them. */
struct what_if {
    struct what_if_side before, after;
    struct workload_times before_s[MAX_MODELS], after_s[MAX_MODELS]; /* [options->n_models] */
    struct placement_found found;                                    /* with best_placement */
};

#endif

/* Runs `mpistair predict --what-if` of rounds and patterns: what_if_run.c predicts a run as it is and as it would be,
 * show_what_if.c shows both. */
#ifndef MPISTAIR_PREDICTOR_WHAT_IF_H
#define MPISTAIR_PREDICTOR_WHAT_IF_H

#include <stdio.h>

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

/* Predicts both and shows them. Returns 0, or -1 with the reason and no file written. */
int what_if_run(const struct predict_options *options, struct error *error);

/* Shows T of the run before and after, and the ranks that gain and lose most, as text; csv and json have every rank.
 * Returns 0, or -1 with the reason. */
int show_what_if(FILE *stream, const struct predict_options *options, const struct what_if *what_if,
                 struct error *error);

#endif

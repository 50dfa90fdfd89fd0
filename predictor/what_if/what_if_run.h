/* Runs `mpistair predict --what-if`: a run is predicted as it is and as it would be. */
#ifndef MPISTAIR_PREDICTOR_WHAT_IF_RUN_H
#define MPISTAIR_PREDICTOR_WHAT_IF_RUN_H

#include "predictor/options/predict_options.h"

/* Predicts both and shows them. Returns 0, or -1 with the reason and no file written. */
int what_if_run(const struct predict_options *options, struct error *error);

#endif

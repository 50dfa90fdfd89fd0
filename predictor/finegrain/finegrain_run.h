/* Runs `mpistair predict --finegrain`. */
#ifndef MPISTAIR_PREDICTOR_FINEGRAIN_RUN_H
#define MPISTAIR_PREDICTOR_FINEGRAIN_RUN_H

#include "predictor/predict_options.h"

/* Predicts and prints what options->finegrain asks for. Returns the exit code, after the reason was printed. */
int finegrain_run(const struct predict_options *options);

#endif

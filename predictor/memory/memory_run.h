/* Runs `mpistair predict --memory`. */
#ifndef MPISTAIR_PREDICTOR_MEMORY_RUN_H
#define MPISTAIR_PREDICTOR_MEMORY_RUN_H

#include "predictor/predict_options.h"

/* Predicts and prints what options->memory asks for. Returns 0, or -1 with the reason. */
int memory_run(const struct predict_options *options, struct error *error);

#endif

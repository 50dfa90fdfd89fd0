/* Runs `mpistair predict --gpu`. */
#ifndef MPISTAIR_PREDICTOR_GPU_RUN_H
#define MPISTAIR_PREDICTOR_GPU_RUN_H

#include "predictor/predict_options.h"

/* Predicts and prints what options->gpu asks for. Returns the exit code, after the reason was printed. */
int gpu_run(const struct predict_options *options);

#endif

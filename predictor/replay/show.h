/* Prints what `mpistair predict` shows. */
#ifndef MPISTAIR_PREDICTOR_SHOW_H
#define MPISTAIR_PREDICTOR_SHOW_H

#include <sqlite3.h>
#include <stdio.h>

#include "predictor/options/predict_options.h"

/* Shows the times of a pattern: predictions[options->n_models]. CSV has the columns rank,model,time_s, with --interval
 * also low_s,high_s. Returns 0, or -1 with the reason. */
int show_times(FILE *stream, const struct predict_options *options, const struct prediction *predictions,
               struct error *error);

/* Shows the errors of the models against what was measured, from the view model_error. Returns 0, or -1 with the
 * reason. */
int show_errors(FILE *stream, const struct predict_options *options, sqlite3 *database, const char *machine,
                struct error *error);

#endif

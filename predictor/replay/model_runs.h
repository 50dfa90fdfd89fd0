/* Patterns by models: that of a file, those of the rounds of a recorded run, and how they are shown. */
#ifndef MPISTAIR_PREDICTOR_MODEL_RUNS_H
#define MPISTAIR_PREDICTOR_MODEL_RUNS_H

#include <sqlite3.h>

#include "predictor/options/predict_options.h"

/* Predicts a pattern file by the models of the options, and shows the times: CSV has the columns rank,model,time_s,
 * with --interval also low_s,high_s. Returns 0, or -1 with the reason. */
int predict_pattern(const struct predict_options *options, struct error *error);

/* Predicts the first round of every kind of a recorded run, stores that in the trace, and shows the errors of the
 * models. Predictions of the same machine, model and options are replaced, in one transaction; a kind has rows only of
 * ranks that take part in it. Returns 0, or -1 with the reason and the database unchanged. */
int predict_rounds(const struct predict_options *options, struct error *error);

/* Reads the first round of a kind (kind_given; else of the trace's only one), the messages of a sender in the order
 * of their posts; placement has all ranks of the run. Returns 0, or -1 with the reason and nothing to release. */
int round_take(sqlite3 *database, const char *path, bool kind_given, int64_t kind, struct pattern *pattern,
               struct placement *placement, struct error *error);

#endif

/* Patterns by models: that of a file, those of the rounds of a recorded run, and how they are shown. */
#ifndef MPISTAIR_PREDICTOR_ROUNDS_H
#define MPISTAIR_PREDICTOR_ROUNDS_H

#include <sqlite3.h>

#include "predictor/options/predict_options.h"
#include "predictor/terms/interval.h"

/* Holds a pattern with what its models are given, and their results: predictions[options->n_models]. */
struct models_run {
    const struct predict_options *options;
    struct model_options model; /* those of the options, of a kind with its rounds */
    const struct pattern *pattern;
    const struct placement *placement;
    const struct machine *machine;
    struct machine_draws draws; /* none without --interval */
    struct prediction predictions[MAX_MODELS];
};

/* Predicts a pattern file by the models of the options, and shows the times. Returns 0, or -1 with the reason. */
int predict_pattern(const struct predict_options *options, struct error *error);

/* Predicts the first round of every kind of a recorded run, stores that in the trace, and shows the errors of the models.
 * Predictions of the same machine, model and options are replaced, in one transaction; a kind has rows only of ranks
 * that take part in it. Returns 0, or -1 with the reason and the database unchanged. */
int predict_rounds(const struct predict_options *options, struct error *error);

/* Reads the first round of a kind (kind_given; else of the trace's only one), the messages of a sender in the order
 * of their posts; placement has all ranks of the run. Returns 0, or -1 with the reason and nothing to release. */
int round_take(sqlite3 *database, const char *path, bool kind_given, int64_t kind, struct pattern *pattern,
               struct placement *placement, struct error *error);

/* show.c: shows the times of a pattern. CSV has the columns rank,model,time_s, with --interval also low_s,high_s. Returns
 * 0, or -1 with the reason. */
int show_times(FILE *stream, const struct models_run *run, struct error *error);
/* Shows the errors of the models against what was measured, from the view round_model_error. Returns 0, or -1 with the
 * reason. */
int show_errors(FILE *stream, const struct predict_options *options, sqlite3 *database, const char *machine,
                struct error *error);

#endif

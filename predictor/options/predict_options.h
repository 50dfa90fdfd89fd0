/* Reads the command line of `mpistair predict`. */
#ifndef MPISTAIR_PREDICTOR_PREDICT_OPTIONS_H
#define MPISTAIR_PREDICTOR_PREDICT_OPTIONS_H

#include "predictor/models/model.h"
#include "predictor/run/laws/run_choice.h"
#include "predictor/options/run_options.h"
#include "predictor/tables/ask_table.h"

enum { MAX_LISTS = 16, MAX_REPETITIONS = 1000 };

struct predict_options {
    struct run_options run; /* the first member, since rows of run_options.h take their values here; trace NULL: a
                             * pattern is given */
    const char *pattern;    /* P.csv, or NULL */
    const char *topology;   /* as given, or NULL; model.topology and run.topology are set by who reads it */
    struct model_choice models[MAX_MODELS]; /* of a pattern, or of the rounds of a trace */
    size_t n_models;
    struct run_law_choice laws[MAX_MODELS]; /* of the whole run of a trace */
    size_t n_laws;
    const char *lists[MAX_LISTS]; /* of --model, as given */
    size_t n_lists;
    bool rounds; /* the rounds of the trace, one by one */
    struct model_options model;
    struct table_options tables; /* one asked: there is neither trace nor pattern */
};

/* Reads the arguments. Returns OPTIONS_READ, or the exit code after --help or the reason was printed. */
int predict_options_parse(int argc, char **argv, struct predict_options *options);

/* Says whether the story of one law is asked for: what if, sensitivity, intervals; else the table of all laws. */
bool predict_options_story(const struct predict_options *options);

/* Says whether a model has a term that asks which cores compute. */
bool predict_options_computing(const struct predict_options *options);

#endif

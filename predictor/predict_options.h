/* The command line of `mpistair predict`. */
#ifndef MPISTAIR_PREDICTOR_PREDICT_OPTIONS_H
#define MPISTAIR_PREDICTOR_PREDICT_OPTIONS_H

#include "model.h"

enum { MAX_MODELS = 32 };

enum output_format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON };

struct predict_options {
    const char *trace;     /* NULL: a pattern is given */
    const char *pattern;   /* P.csv, or NULL */
    const char *placement; /* L.csv, or NULL */
    const char *machine;   /* as given, or NULL */
    const char *output;    /* NULL: standard output */
    enum output_format format;
    struct model_choice models[MAX_MODELS];
    size_t n_models;
    struct model_options model;
    bool interval; /* of every time */
    bool help;
};

/* 0, or the exit code after the reason was printed. */
int predict_options_parse(int argc, char **argv, struct predict_options *options);
void predict_options_usage(void);

/* prediction_run.options of a model: what differs from the defaults, "" if nothing. */
const char *model_options_text(const struct model *model, const struct model_options *options);

#endif

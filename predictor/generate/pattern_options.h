/* Reads the command line of `mpistair pattern`. */
#ifndef MPISTAIR_PREDICTOR_PATTERN_OPTIONS_H
#define MPISTAIR_PREDICTOR_PATTERN_OPTIONS_H

#include <stdbool.h>

#include "predictor/generate/pattern_make.h"

struct pattern_options {
    const struct pattern_kind *kind; /* kind to make, or NULL */
    const char *trace;               /* trace from which to take a round, or NULL */
    const char *pattern;             /* P.csv to read, or NULL */
    const char *placement;           /* L.csv that belongs to it */
    const char *output;              /* writes output.P.csv and output.L.csv; NULL: statistics alone */
    uint64_t round_kind;
    bool round_kind_given;
    bool json;
    struct pattern_request request;
};

/* Reads the arguments. Returns OPTIONS_READ, or the exit code after --help or the reason was printed. */
int pattern_options_parse(int argc, char **argv, struct pattern_options *options);

#endif

/* Reads the command line of `mpistair replay`. */
#ifndef MPISTAIR_PREDICTOR_RUN_OPTIONS_H
#define MPISTAIR_PREDICTOR_RUN_OPTIONS_H

#include "predictor/predict_options.h"
#include "predictor/run/simulate.h"
#include "predictor/run_read/run_read.h"

enum run_collectives { COLLECTIVES_RECORDED, COLLECTIVES_MODELLED };
extern const char *const run_collectives_name[];

/* Says which messages have their buffers in caches: as many as their recorded times say, none, all small ones. */
enum run_buffers { BUFFERS_RECORDED, BUFFERS_MEMORY, BUFFERS_CACHED };
extern const char *const run_buffers_name[];

enum { MAX_SCALES = 16, RUN_OPTIONS_BYTES = 512 };

/* Says whose computation takes another time. */
struct run_scale {
    int64_t rank, callsite; /* -1: all */
    double factor;
};

struct run_options {
    const char *trace, *machine, *placement, *output; /* as given, or NULL */
    struct run_law_choice law;
    int collectives;    /* enum run_collectives */
    int buffers;        /* enum run_buffers */
    bool buffers_given; /* else a long run has all in memory */
    int format;         /* enum output_format */
    struct run_window window;
    bool sensitivity, interval;
    bool memory; /* --memory: the law has that term */
    struct what_if_options what_if;
    struct run_scale scales[MAX_SCALES];
    size_t n_scales;
    struct run_ideal ideal; /* of what would be */
    bool no_contention;
    const char *goal, *tit; /* files to write: GOAL, time-independent trace; NULL: none */
};

/* Reads the arguments. Returns OPTIONS_READ, or the exit code after --help or the reason was printed. */
int run_options_parse(int argc, char **argv, struct run_options *options);
/* Writes what of the options differs from the defaults, as in replay_run.options; "" for the whole run as it was. */
void run_options_text(const struct run_options *options, char text[RUN_OPTIONS_BYTES]);
/* Says whether anything is to be changed. */
bool run_options_what_if(const struct run_options *options);

#endif

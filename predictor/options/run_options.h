/* Reads the options of the whole run, which `mpistair predict` and `mpistair replay` share, and replay's arguments. */
#ifndef MPISTAIR_PREDICTOR_RUN_OPTIONS_H
#define MPISTAIR_PREDICTOR_RUN_OPTIONS_H

#include "predictor/run/laws/run_choice.h"
#include "predictor/run/engine/simulate.h"
#include "predictor/run_read/run_read.h"
#include "predictor/terms/topology.h"
#include "share/base/options.h"

enum run_collectives { COLLECTIVES_RECORDED, COLLECTIVES_MODELLED };
extern const char *const run_collectives_name[];

/* Says which messages have their buffers in caches: as many as their recorded times say, none, all small ones. */
enum run_buffers { BUFFERS_RECORDED, BUFFERS_MEMORY, BUFFERS_CACHED };
extern const char *const run_buffers_name[];

/* Says what of the network between nodes --tolerance makes worse. */
enum run_tolerated { TOLERANCE_NONE, TOLERANCE_LATENCY, TOLERANCE_BANDWIDTH };

enum { MAX_SCALES = 16, RUN_OPTIONS_BYTES = 512 };

/* Says whose computation takes another time. */
struct run_scale {
    int64_t rank, callsite; /* -1: all */
    double factor;
};

/* Options that ask what would be if something were different. */
struct what_if_options {
    bool asked;            /* any of them was given */
    const char *machine;   /* as given, or NULL: the same */
    const char *placement; /* L.csv or the name of an arrangement, or NULL */
    bool best_placement;   /* search for one */
    bool eager_given;
    uint64_t eager_bytes;
    double seconds; /* limit of the search */
    uint64_t seed;
    bool seconds_given, seed_given;
    const char *rank_file; /* prefix, or NULL */
};

struct run_options {
    const char *command;                              /* as errors name it */
    const char *trace, *machine, *placement, *output; /* as given, or NULL */
    const struct topology *topology;                  /* of a law with +contention, or NULL */
    struct run_law_choice law;
    int collectives;    /* enum run_collectives */
    int buffers;        /* enum run_buffers */
    bool buffers_given; /* else a long run has all in memory */
    int format;         /* enum output_format */
    struct run_window window;
    bool sensitivity, interval;
    int tolerance; /* enum run_tolerated */
    struct what_if_options what_if;
    struct run_scale scales[MAX_SCALES];
    size_t n_scales;
    struct run_ideal ideal; /* of what would be */
    bool no_contention;
    double added_s;         /* to the latency between nodes; 0: nothing */
    const char *goal, *tit; /* files to write: GOAL, time-independent trace; NULL: none */
};

/* Sets the defaults, and writes the table of the options into rows; its context begins with the run_options. */
enum { RUN_ROWS = 29 };
void run_option_rows(const char *command, struct run_options *options, struct option_row rows[RUN_ROWS]);
/* Checks them once all are read, of the whole run. Returns 0, or the exit code after the reason was printed. */
int run_options_check(struct run_options *options);
/* Checks those of a what-if. command: whose errors they are; others: there are other changes. Returns as
 * run_options_check does. */
int what_if_options_check(struct what_if_options *options, const char *command, bool others);
/* Returns an option that was given and is for the whole run alone, or NULL. */
const char *run_options_whole(const struct run_options *options);

/* Reads the arguments of replay. Returns OPTIONS_READ, or the exit code after --help or the reason was printed. */
int run_options_parse(int argc, char **argv, struct run_options *options);
/* Writes what of the options differs from the defaults, as in replay_run.options; "" for the whole run as it was. */
void run_options_text(const struct run_options *options, char text[RUN_OPTIONS_BYTES]);

#endif

/* Reads the options of `mpistair predict` that ask what would be if something were different. */
#ifndef MPISTAIR_PREDICTOR_WHAT_IF_OPTIONS_H
#define MPISTAIR_PREDICTOR_WHAT_IF_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

struct what_if_options {
    bool asked;            /* any of them was given */
    const char *machine;   /* as given, or NULL: the same */
    const char *placement; /* L.csv or the name of an arrangement, or NULL */
    bool best_placement;   /* search for one */
    bool aggregate;
    bool eager_given;
    uint64_t eager_bytes;
    double seconds; /* limit of the search */
    uint64_t seed;
    bool search_option;    /* seconds or seed was given */
    const char *rank_file; /* prefix, or NULL */
};

/* Are codes of the long options, above those of others. */
enum what_if_option {
    WHAT_IF = 1000,
    WHAT_IF_MACHINE,
    WHAT_IF_PLACEMENT,
    WHAT_IF_BEST,
    WHAT_IF_AGGREGATE,
    WHAT_IF_EAGER,
    WHAT_IF_SECONDS,
    WHAT_IF_SEED,
    WHAT_IF_RANK_FILE
};

#define WHAT_IF_LONG_OPTIONS                                                                                           \
    {"what-if", no_argument, NULL, WHAT_IF}, {"to-machine", required_argument, NULL, WHAT_IF_MACHINE},                 \
        {"to-placement", required_argument, NULL, WHAT_IF_PLACEMENT},                                                  \
        {"best-placement", no_argument, NULL, WHAT_IF_BEST}, {"aggregate", no_argument, NULL, WHAT_IF_AGGREGATE},      \
        {"eager-threshold", required_argument, NULL, WHAT_IF_EAGER},                                                   \
        {"seconds", required_argument, NULL, WHAT_IF_SECONDS}, {"seed", required_argument, NULL, WHAT_IF_SEED},        \
    {                                                                                                                  \
        "rank-file", required_argument, NULL, WHAT_IF_RANK_FILE                                                        \
    }

extern const char what_if_usage[];

void what_if_options_init(struct what_if_options *options);
/* Takes one option. Returns 0; the exit code after the reason was printed; -1 where it is none of these. */
int what_if_option_take(struct what_if_options *options, int code, const char *argument);
/* Checks the options once all are there. Returns 0, or the exit code after the reason was printed. */
int what_if_options_check(const struct what_if_options *options);

#endif

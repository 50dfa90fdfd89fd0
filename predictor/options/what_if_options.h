/* Reads the options of `mpistair predict` that ask what would be if something were different. */
#ifndef MPISTAIR_PREDICTOR_WHAT_IF_OPTIONS_H
#define MPISTAIR_PREDICTOR_WHAT_IF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/options.h"

struct what_if_options {
    bool asked;            /* any of them was given */
    const char *machine;   /* as given, or NULL: the same */
    const char *placement; /* L.csv or the name of an arrangement, or NULL */
    bool best_placement;   /* search for one */
    bool eager_given;
    uint64_t eager_bytes;
    double seconds; /* limit of the search */
    uint64_t seed;
    bool search_option;    /* seconds or seed was given */
    const char *rank_file; /* prefix, or NULL */
};

/* Sets the defaults, and writes the table of the options into rows. */
enum { WHAT_IF_ROWS = 9 };
void what_if_option_rows(struct what_if_options *options, struct option_row rows[WHAT_IF_ROWS]);
/* Checks them once all are read. command: whose errors they are; others: there are other changes. Returns 0, or the
 * exit code after the reason was printed. */
int what_if_options_check(struct what_if_options *options, const char *command, bool others);

#endif

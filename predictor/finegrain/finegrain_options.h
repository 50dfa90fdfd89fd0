/* Reads the options of `mpistair predict` that ask for fine-grained messages. */
#ifndef MPISTAIR_PREDICTOR_FINEGRAIN_OPTIONS_H
#define MPISTAIR_PREDICTOR_FINEGRAIN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "calibrate/finegrain/arrivals/thread_arrivals.h"
#include "predictor/finegrain/finegrain_costs.h"
#include "share/base/options.h"

enum { FINEGRAIN_MOST_PARTS = 64 };

struct finegrain_options {
    bool asked;
    bool own;    /* one of the others was given */
    bool shared; /* --level, --bytes or --ppn was given, which --gpu takes as well */
    enum level level;
    uint32_t peers, threads, ppn;
    uint64_t bytes; /* to a peer */
    uint64_t draws; /* of arrivals */
    double compute_s;
    struct arrivals_request arrivals;
    uint32_t parts[FINEGRAIN_MOST_PARTS]; /* [n_parts] ascending, each once */
    size_t n_parts;
    bool interface_asked[FINEGRAIN_INTERFACE_COUNT];
    /* As given, until they are checked. */
    const char *level_text, *parts_text, *arrivals_text, *interface_text;
    double width_s;
};

/* Sets the defaults, and writes the table of the options into rows. */
enum { FINEGRAIN_ROWS = 13 };
void finegrain_option_rows(struct finegrain_options *options, struct option_row rows[FINEGRAIN_ROWS]);
/* Checks them once all are read, and sets what they stand for. Returns 0, or the exit code after the reason was
 * printed. */
int finegrain_options_check(struct finegrain_options *options);
/* Reads level_text into level. Returns as finegrain_options_check. */
int finegrain_take_level(struct finegrain_options *options);

#endif

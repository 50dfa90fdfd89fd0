/* `mpistair predict --finegrain`: whether parts of buffers should leave as threads get done. */
#ifndef MPISTAIR_PREDICTOR_PREDICT_FINEGRAIN_H
#define MPISTAIR_PREDICTOR_PREDICT_FINEGRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "calibrate/finegrain/arrivals/thread_arrivals.h"
#include "predictor/finegrain/finegrain.h"
#include "share/base/options.h"
#include "share/base/output_file.h"

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

/* Predicts with that machine and prints what the options ask for, to output (NULL: stdout). Returns the exit code,
 * after the reason was printed. */
int finegrain_run(const struct finegrain_options *options, const char *machine_name, uint64_t seed,
                  enum output_format format, const char *output);

#endif

/* `mpistair predict --memory`. */
#ifndef MPISTAIR_PREDICTOR_PREDICT_MEMORY_H
#define MPISTAIR_PREDICTOR_PREDICT_MEMORY_H

#include "calibrate/samples/memory_samples.h"
#include "predictor/models/memory_contention.h"
#include "share/base/options.h"
#include "share/base/output_file.h"

/* Holds the options of `mpistair predict` that ask for memory contention. */
struct memory_options {
    bool asked;
    bool cores_given, computation_given, message_given; /* else: every one */
    uint64_t cores;                                     /* that compute */
    uint64_t computation_numa, message_numa;            /* NUMA nodes of the data */
    const char *samples;                                /* RAW.csv, or NULL */
    const char *plot;                                   /* FILE.html, or NULL */
};

/* Sets the defaults, and writes the table of the options into rows. */
enum { MEMORY_ROWS = 7 };
void memory_option_rows(struct memory_options *options, struct option_row rows[MEMORY_ROWS]);
/* Checks them once all are read. Returns 0, or the exit code after the reason was printed. */
int memory_options_check(const struct memory_options *options);

/* Predicts and prints what is asked. Returns 0, or -1 with the reason. */
int memory_run(const struct memory_options *options, const char *machine_name, enum output_format format,
               const char *output, struct error *error);

#endif

/* Chooses for which numbers of computing cores, and for data on which NUMA nodes, memory contention is asked. */
#ifndef MPISTAIR_PREDICTOR_MEMORY_CHOICE_H
#define MPISTAIR_PREDICTOR_MEMORY_CHOICE_H

#include <stddef.h>

#include "calibrate/samples/memory_samples.h"
#include "predictor/models/memory_contention.h"
#include "share/base/options.h"

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

struct memory_placement {
    uint32_t computation_numa, message_numa;
};

struct memory_choice {
    uint32_t least_cores, most_cores;
    struct memory_placement *placements; /* [n_placements], all of which the model covers */
    size_t n_placements;
    size_t n_left_out; /* medians that were asked for, at placements that the model does not cover */
};

/* Takes what the options say; of placements that the model does not tell apart one, but where an option names one NUMA
 * node, all pairs with it. Returns 0, or -1 with the
 * reason: beyond the cores or NUMA nodes of the machine, which is called name. */
int memory_choice_make(const struct memory_model *model, const char *name, const struct memory_options *options,
                       struct memory_choice *choice, struct error *error);
/* Takes what was measured together, as far as the options ask for it and the model covers it. Returns 0, or -1 with the
 * reason: the samples, of the file path, are those of another machine, or nothing is left. */
int memory_choice_measured(const struct memory_model *model, const char *name, const struct memory_options *options,
                           const char *path, const struct memory_samples *samples, struct memory_choice *choice,
                           struct error *error);
bool memory_choice_has(const struct memory_choice *choice, const struct memory_placement *placement);
void memory_choice_release(struct memory_choice *choice);

#endif

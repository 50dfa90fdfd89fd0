/* Chooses for which numbers of computing cores, and for data on which NUMA nodes, memory contention is asked. */
#ifndef MPISTAIR_PREDICTOR_MEMORY_CHOICE_H
#define MPISTAIR_PREDICTOR_MEMORY_CHOICE_H

#include <stddef.h>

#include "calibrate/samples/memory_samples.h"
#include "predictor/memory/memory_options.h"
#include "predictor/models/memory_contention.h"

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
 * node, all pairs with it. cores_option is what the command calls the number of cores. Returns 0, or -1 with the
 * reason: beyond the cores or NUMA nodes of the machine, which is called name. */
int memory_choice_make(const struct memory_model *model, const char *name, const struct memory_options *options,
                       const char *cores_option, struct memory_choice *choice, struct error *error);
/* Takes what was measured together, as far as the options ask for it and the model covers it. Returns 0, or -1 with the
 * reason: the samples, of the file path, are those of another machine, or nothing is left. */
int memory_choice_measured(const struct memory_model *model, const char *name, const struct memory_options *options,
                           const char *path, const struct memory_samples *samples, struct memory_choice *choice,
                           struct error *error);
bool memory_choice_has(const struct memory_choice *choice, const struct memory_placement *placement);
void memory_choice_release(struct memory_choice *choice);

#endif

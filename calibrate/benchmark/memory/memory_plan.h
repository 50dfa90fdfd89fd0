/* Lists what the memory benchmark measures, and in which order.
 *
 * A task is one number of computing cores with the NUMA nodes of their data and of the message's (Denis, Jeannot,
 * Swartvagher 2022, section 4.1.1): computing alone, receiving alone, or both together. Each gets as many samples, in
 * rounds: a round goes over all tasks in another random order. */
#ifndef MPISTAIR_CALIBRATE_MEMORY_PLAN_H
#define MPISTAIR_CALIBRATE_MEMORY_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibrate/samples/memory_samples.h"
#include "calibrate/measure/plan.h"

/* Samples of a task: more than the 10 below which `mpistair machine check` doubts a value; a median has a 95 % interval
 * from 6 on (plan.h). */
enum { MEMORY_SAMPLES = 12 };

struct memory_task {
    struct memory_place place; /* its variant MEMORY_COMPUTATION stands for both together */
    struct point samples;      /* seconds that a byte took: of the cores together, or of a message that came alone */
    bool is_left_out;
};

struct memory_plan {
    struct memory_task *tasks; /* [n_tasks] */
    size_t n_tasks;
    uint32_t n_computing; /* most computing cores */
    uint32_t numa_all;
    bool skips_beyond_peak; /* the peaks are looked for */
    uint64_t random;
};

/* What to measure. */
struct memory_asked {
    uint32_t n_computing;
    uint32_t numa_nodes; /* of the socket that computes */
    uint32_t numa_all;
    bool all_placements;   /* else those two of which a model is made: all data on the first node, local or remote */
    bool skip_beyond_peak; /* leave out what is between the n with the highest bandwidth and the last (4.1.2) */
    uint64_t seed;
};

void memory_plan_make(const struct memory_asked *asked, struct memory_plan *plan);
void memory_plan_release(struct memory_plan *plan);

/* Returns the task of a place, NULL if it is not of this plan. */
struct memory_task *memory_plan_find(const struct memory_plan *plan, const struct memory_place *place);
/* Returns the task whose sample is to be measured next; NULL at the end. While peaks are looked for it is computing
 * alone, by rising n. */
struct memory_task *memory_plan_next(struct memory_plan *plan);
/* Counts the samples that are still to be measured, as far as is known. */
size_t memory_plan_left(const struct memory_plan *plan);

/* Returns the number of cores at which computing alone on that node has the highest bandwidth: two further n, or all
 * there are, are not above the 95 % interval of its median. Returns 0 as long as that is not known. */
uint32_t memory_plan_peak(const struct memory_plan *plan, uint32_t computing_numa);

#endif

/* Leads benchmarks whose samples take long: all items in turn, as many samples of each as the fit needs and the time
 * allows, instead of the schedule's many short ones. */
#ifndef MPISTAIR_CALIBRATE_ROUND_ROBIN_H
#define MPISTAIR_CALIBRATE_ROUND_ROBIN_H

#include <stddef.h>

#include "calibrate/measure/measure.h"

/* Measures items[n_items] in rounds, until taken[n_items] of each are n samples, which may begin above 0. It ends
 * earlier where there is no time for one that takes as long as the last. Samples of 0 s are lost and not written. */
void round_robin_measure(struct measure *measure, const struct benchmark_program *program, const struct item *items,
                         size_t n_items, size_t *taken, size_t n);

#endif

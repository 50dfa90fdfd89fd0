/* Decides which item of a benchmark is measured when.
 *
 * A sample is a warm loop of about 1 ms (plan.h). A series takes a few samples of an item, and series come in random
 * order, so that a disturbance does not fall on neighbouring sizes. Each item is first measured once without being
 * written: that opens connections and tells how long a repetition takes; if a fifth of the time suffices, all are
 * measured so before anything is written. Then items that say nothing below some samples get these; then every item
 * gets its minimum of samples, in equal shares where time is short; then those whose median is not yet known within 2
 * % share the rest of the time. */
#ifndef MPISTAIR_CALIBRATE_SCHEDULE_H
#define MPISTAIR_CALIBRATE_SCHEDULE_H

#include "calibrate/measure/measure.h"

/* Lists on rank 0 the items of the benchmark and measures them until each is known or measure->seconds are over,
 * counted from measure->begin_s. */
void schedule_lead(struct measure *measure, const struct benchmark_program *program);

#endif

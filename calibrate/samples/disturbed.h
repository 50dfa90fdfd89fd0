/* Which samples were taken while others had the machine (probing.h), left out where others do as well. */
#ifndef MPISTAIR_CALIBRATE_DISTURBED_H
#define MPISTAIR_CALIBRATE_DISTURBED_H

#include "calibrate/samples/samples.h"

/* A calibration in which that share of points has no quiet sample is too disturbed (drift.h). */
#define DISTURBED_MAX 0.1

/* Takes disturbed samples out of the sorted ones, after counting them. Those of points that have quiet ones go, since
 * one quiet sample is better than the median of many that waited. Points that were never measured quietly go too,
 * unless these are DISTURBED_MAX or more, or the user takes them. A point of ranks that wait for each other by nature
 * keeps what it has, as do searches (eager, buffer): what was taken or refused is no time. */
void disturbed_leave_out(struct samples *samples);

/* Whether the user takes what there is, however disturbed (MPISTAIR_DISTURBED=1): tests of other things, and first
 * steps on a busy computer. */
bool disturbed_are_taken(void);

/* Sums up what all benchmarks have. */
struct disturbance disturbed_sum(const struct samples *samples);

#endif

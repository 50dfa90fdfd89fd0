/* Which item of a benchmark is measured when: in random order, until its median is known well enough or the time is
 * over.
 */
#ifndef MPISTAIR_CALIBRATE_SCHEDULE_H
#define MPISTAIR_CALIBRATE_SCHEDULE_H

#include "measure.h"

/* On rank 0: lists the items of the benchmark and measures them. 0, or -1 without memory. */
int schedule_lead(struct measure *measure, const struct benchmark_program *program);

#endif

/* Samples that were taken while others had the machine: probing.h says which these are. */
#ifndef MPISTAIR_CALIBRATE_DISTURBED_H
#define MPISTAIR_CALIBRATE_DISTURBED_H

#include "calibrate/fit/samples.h"

/* Samples without a disturbance from which on the disturbed ones of the same point are left out. */
enum { DISTURBED_REPEATED = 3 };

/* Takes disturbed samples out of the sorted ones, point by point, where they were repeated; counts them before.
 * Searches (eager, buffer) keep all: what was taken or refused is no time. */
void disturbed_leave_out(struct samples *samples);

#endif

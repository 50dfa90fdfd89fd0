/* Lies between measure.c and visit.c: what ranks other than 0 do, and how they are let go. */
#ifndef MPISTAIR_CALIBRATE_SAMPLING_H
#define MPISTAIR_CALIBRATE_SAMPLING_H

#include "calibrate/measure/measure.h"

/* Does what rank 0 tells until sampling_end(). */
void sampling_follow(struct measure *measure, const struct benchmark_program *program);
void sampling_end(struct measure *measure);

#endif

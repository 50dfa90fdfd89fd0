/* Lies between measure.c and visit.c: what ranks other than 0 do, and how they are let go. */
#ifndef MPISTAIR_CALIBRATE_VISIT_H
#define MPISTAIR_CALIBRATE_VISIT_H

#include "calibrate/measure/measure.h"

/* Does what rank 0 tells until visit_end(). */
void visit_follow(struct measure *measure, const struct benchmark_program *program);
void visit_end(struct measure *measure);

#endif

/* Steps: what one rank posts and completes together. */
#ifndef MPISTAIR_TRACE_STEP_H
#define MPISTAIR_TRACE_STEP_H

#include "error.h"
#include "trace.h"

/* Fills trace.steps (by rank, then by begin) and the step of every operation. Needs match and clock_align. 0, or -1
 * without memory. */
int steps_find(struct trace *trace, struct error *error);

#endif

/* Brings the clocks of all nodes together. */
#ifndef MPISTAIR_TRACE_CLOCK_ALIGN_H
#define MPISTAIR_TRACE_CLOCK_ALIGN_H

#include "interpose/trace/state/trace.h"

/* Puts all times of all processes onto the clock of rank 0's node, counted from the run's start, after matching,
 * by up to so many threads. */
void clock_align(struct trace *trace, size_t jobs);

#endif

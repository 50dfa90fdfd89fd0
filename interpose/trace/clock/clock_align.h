/* Brings the clocks of all nodes together. */
#ifndef MPISTAIR_TRACE_CLOCK_ALIGN_H
#define MPISTAIR_TRACE_CLOCK_ALIGN_H

#include "interpose/trace/state/trace.h"

/* Drift between two crystals as they are sold, ns per ns. */
#define CLOCK_DRIFT_PRIOR 50e-6

/* Returns the drift that a difference of apart_ns over duration_ns shows, whose ends are known to half a width of
 * first_ns and last_ns: the estimate together with what is known of clocks beforehand, within what the widths allow. */
double clock_drift_of(double apart_ns, double first_ns, double last_ns, double duration_ns);

/* Puts all times of all processes onto the clock of rank 0's node, counted from the run's start, after matching. */
void clock_align(struct trace *trace);

#endif

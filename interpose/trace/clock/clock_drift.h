/* Finds how far the clocks of nodes drift that were measured once or never, as those of a killed job. */
#ifndef MPISTAIR_TRACE_CLOCK_DRIFT_H
#define MPISTAIR_TRACE_CLOCK_DRIFT_H

#include "interpose/trace/state/trace.h"

/* Drift between two crystals as they are sold, ns per ns. */
#define CLOCK_DRIFT_PRIOR 50e-6

/* Returns the drift that a difference of apart_ns over duration_ns shows, whose ends are known to half a width of
 * first_ns and last_ns: the estimate together with what is known of clocks beforehand, within what the widths allow. */
double clock_drift_of(double apart_ns, double first_ns, double last_ns, double duration_ns);

/* Gives every such node the drift that the messages of the run's first and last third show, sent from first_ns to
 * last_ns. All nodes with messages have an offset already. Returns whether any got one. */
bool clock_drift_find(struct trace *trace, uint32_t root, int64_t first_ns, int64_t last_ns);

#endif

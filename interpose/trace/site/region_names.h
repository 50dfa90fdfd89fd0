/* Regions of the run: those of all processes that have the same names, one within the other. */
#ifndef MPISTAIR_TRACE_REGION_NAMES_H
#define MPISTAIR_TRACE_REGION_NAMES_H

#include "interpose/trace/state/trace.h"

/* Takes what a process says of one of its regions. Returns whether that can be true. */
bool region_take(struct trace *trace, struct trace_process *process, const struct spool_region_name *record);

/* Returns the run's number of a region by that of the process; TRACE_NONE for 0. One whose name is lost is a region of
 * its own. */
uint32_t region_of_process(struct trace *trace, struct trace_process *process, uint32_t number);

/* Finds it again: TRACE_NONE where region_of_process was not asked. */
uint32_t region_find(const struct trace_process *process, uint32_t number);

#endif

/* Turns ticks into times on one clock for the run. */
#ifndef MPISTAIR_TRACE_CLOCK_H
#define MPISTAIR_TRACE_CLOCK_H

#include "share/base/error.h"
#include "interpose/trace/gather/spools.h"
#include "interpose/trace/state/trace.h"

/* Fills processes (spool, node) and nodes with their clock pairs and links. Returns 0, or -1 with the reason: processes
 * of one host that used different clocks. */
int nodes_build(const struct spools *spools, struct trace *trace, struct error *error);

/* Returns a node's CLOCK_MONOTONIC at ticks of one of its processes, in ns. hint keeps the place between calls and
 * begins with 0. */
int64_t clock_ns(const struct trace_node *node, const struct trace_process *process, uint64_t ticks, size_t *hint);

/* Turns a node's own time into an aligned one, as clock_align (clock_align.h) did for its processes. */
int64_t clock_run_ns(const struct trace_node *node, int64_t node_ns);
/* Does both. */
int64_t ticks_run_ns(const struct trace *trace, const struct trace_process *process, uint64_t ticks, size_t *hint);

#endif

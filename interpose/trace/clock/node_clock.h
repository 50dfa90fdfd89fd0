/* From ticks to one clock for the run. */
#ifndef MPISTAIR_TRACE_CLOCK_H
#define MPISTAIR_TRACE_CLOCK_H

#include "share/base/error.h"
#include "interpose/trace/gather/spools.h"
#include "interpose/trace/memory/trace.h"

/* Fills processes (spool, node) and nodes with their clock pairs and links. 0, or -1 without memory. */
int nodes_build(const struct spools *spools, struct trace *trace, struct error *error);

/* A node's CLOCK_MONOTONIC at ticks, in ns. hint keeps the place between calls; begin with 0. */
int64_t clock_ns(const struct trace_node *node, uint64_t ticks, size_t *hint);

/* Puts all times of all processes onto the clock of rank 0's node, from the run's start on, after matching. */
int clock_align(struct trace *trace, struct error *error);

/* An aligned time back from a node's own: what clock_align did to its processes. */
int64_t clock_run_ns(const struct trace_node *node, int64_t node_ns);

#endif

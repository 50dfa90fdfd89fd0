/* The records of all spools as arrays of the run. */
#ifndef MPISTAIR_TRACE_LOAD_H
#define MPISTAIR_TRACE_LOAD_H

#include "error.h"
#include "trace.h"

/* Needs nodes_build. Fills communicators, operations (by rank, then by post), calls and collectives (by rank, then by
 * begin), call sites, and the ranges, ends and damage of the processes; times are of the nodes' own clocks. 0, or -1
 * without memory. */
int trace_load(struct trace *trace, struct error *error);

#endif

/* The first reading of all spools. */
#ifndef MPISTAIR_TRACE_LOAD_H
#define MPISTAIR_TRACE_LOAD_H

#include "share/base/error.h"
#include "interpose/trace/memory/trace.h"

/* Needs nodes_build. Fills communicators, collectives and what else is rare (by rank, then by begin), call sites, and
 * of the processes all but their places; times are of the nodes' own clocks. 0, or -1 without memory. */
int trace_load(struct trace *trace, struct error *error);

/* Whether the communicator and the peer that the record names exist; else it is damaged. */
bool operation_known(const struct trace *trace, const struct trace_process *process,
                     const struct spool_operation *record);

#endif

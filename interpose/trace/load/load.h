/* Reads all spools for the first time. */
#ifndef MPISTAIR_TRACE_LOAD_H
#define MPISTAIR_TRACE_LOAD_H

#include "interpose/trace/state/trace.h"

/* Fills communicators, collectives and other rare records (by rank, then by begin), call sites, and all of the
 * processes but their places. Times are on the nodes' own clocks. Needs nodes_build. */
void trace_load(struct trace *trace);

/* True if the communicator and the peer that the record names exist; if not, the record is damaged. */
bool operation_known(const struct trace *trace, const struct trace_process *process,
                     const struct spool_operation *record);

#endif

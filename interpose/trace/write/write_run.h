/* Writes the rows that describe the run: processes, nodes, clocks, communicators, call sites, and what is missing. */
#ifndef MPISTAIR_TRACE_WRITE_RUN_H
#define MPISTAIR_TRACE_WRITE_RUN_H

#include <sqlite3.h>

#include "interpose/trace/state/trace.h"

/* Returns 0, or -1: the database says why. */
int write_run(const struct trace *trace, sqlite3 *database);

#endif

/* Writes rows of what the run has whole in memory: collectives and kinds. */
#ifndef MPISTAIR_TRACE_WRITE_COLLECTIVES_H
#define MPISTAIR_TRACE_WRITE_COLLECTIVES_H

#include <sqlite3.h>

#include "interpose/trace/memory/trace.h"

/* Each returns 0, or -1: the database says why. */
int write_collectives(const struct trace *trace, sqlite3 *database);
int write_collective_calls(const struct trace *trace, sqlite3 *database);
int write_kinds(const struct trace *trace, sqlite3 *database);

#endif

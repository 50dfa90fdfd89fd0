/* Writes rows of what the run has whole in memory: collectives and kinds. */
#ifndef MPISTAIR_TRACE_WRITE_COLLECTIVES_H
#define MPISTAIR_TRACE_WRITE_COLLECTIVES_H

#include <sqlite3.h>

#include "interpose/trace/state/trace.h"

/* Each returns 0, or -1: the database says why. */
int write_collectives(const struct trace *trace, sqlite3 *database);
int write_collective_calls(const struct trace *trace, sqlite3 *database);
int write_kinds(const struct trace *trace, sqlite3 *database);

/* Returns the root's rank of the run; -1: it has none, or it is not known. */
int32_t collective_root(const struct trace *trace, const struct trace_collective *collective);

#endif

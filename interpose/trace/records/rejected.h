/* Notes calls that MPI rejected since it does not know the communicator that they named: they have no place in
 * matching, but a program's author looks for them. */
#ifndef MPISTAIR_TRACE_REJECTED_H
#define MPISTAIR_TRACE_REJECTED_H

#include <sqlite3.h>

#include "interpose/trace/records/loader.h"

/* Adds the call to trace.rejected. */
void rejected_load(struct loader *loader, const struct spool_operation *record);

/* Writes the table rejected. Returns 0, or -1: the database says why. */
int rejected_write(const struct trace *trace, sqlite3 *database);

#endif

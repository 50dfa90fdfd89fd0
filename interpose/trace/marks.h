/* Calls of MPI_Pcontrol: marks of the program's, and the times without recording. */
#ifndef MPISTAIR_TRACE_MARKS_H
#define MPISTAIR_TRACE_MARKS_H

#include <sqlite3.h>

#include "loader.h"

/* Into trace.collectives, see there. */
void mark_load(struct loader *loader, const struct spool_mark *record);

/* Whether no row is made of the operation: recording was off on its side, or on that of its partner. */
static inline bool operation_left_out(const struct trace *trace, const struct trace_operation *operation)
{
    return (operation->flags & SPOOL_OFF) ||
           (operation->partner != TRACE_NONE && (trace->operations[operation->partner].flags & SPOOL_OFF));
}

/* The tables mark and recording_off. 0, or -1: the database says why, or there was no memory. */
int marks_write(const struct trace *trace, sqlite3 *database);

#endif

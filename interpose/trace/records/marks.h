/* Reads calls of MPI_Pcontrol: the program's marks, and the times without recording. */
#ifndef MPISTAIR_TRACE_MARKS_H
#define MPISTAIR_TRACE_MARKS_H

#include <sqlite3.h>

#include "interpose/trace/records/loader.h"

/* Adds the mark to trace.collectives, see there. */
void mark_load(struct loader *loader, const struct spool_mark *record);

/* Finds the times without recording; needs clock_align. */
void marks_find(struct trace *trace);
/* Counts an operation posted in such a time, or an operation of a process that recorded whose partner was. */
void marks_count(struct trace *trace, const struct trace_operation *operation);
void marks_count_partner(struct trace *trace, const struct trace_operation *operation);

/* Writes the tables mark and recording_off. Returns 0, or -1: the database says why. */
int marks_write(const struct trace *trace, sqlite3 *database);

#endif

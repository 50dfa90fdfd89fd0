/* Calls of MPI_Pcontrol: marks of the program's, and the times without recording. */
#ifndef MPISTAIR_TRACE_MARKS_H
#define MPISTAIR_TRACE_MARKS_H

#include <sqlite3.h>

#include "share/base/error.h"
#include "interpose/trace/rare/loader.h"

/* Into trace.collectives, see there. */
void mark_load(struct loader *loader, const struct spool_mark *record);

/* Finds the times without recording; needs clock_align. 0, or -1 without memory. */
int marks_find(struct trace *trace, struct error *error);
/* Counts an operation posted in such a time; and one of a process that recorded, whose partner is the operation. */
void marks_count(struct trace *trace, const struct trace_operation *operation);
void marks_count_partner(struct trace *trace, const struct trace_operation *operation);

/* The tables mark and recording_off. 0, or -1: the database says why, or there was no memory. */
int marks_write(const struct trace *trace, sqlite3 *database);

#endif

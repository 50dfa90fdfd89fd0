/* Loads calls of which only sums are kept: those beyond MPISTAIR_DETAIL, and all while recording was off. */
#ifndef MPISTAIR_TRACE_SUMS_H
#define MPISTAIR_TRACE_SUMS_H

#include <sqlite3.h>

#include "interpose/trace/records/loader.h"

/* Adds the record to trace.sums; collectives without recording that bound rounds go into trace.collectives, too (see
 * there). */
void sum_load(struct loader *loader, const struct spool_sum *record);

/* Adds an operation that was posted while recording was off. */
void sums_add_operation(struct trace *trace, const struct trace_operation *operation);

/* Writes the table call_sum. Returns 0, or -1: the database says why. */
int sums_write(const struct trace *trace, sqlite3 *database);

#endif

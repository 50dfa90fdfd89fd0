/* Loads calls on windows and files with their times, bytes and targets. They make no messages and bound no rounds. */
#ifndef MPISTAIR_TRACE_RMA_H
#define MPISTAIR_TRACE_RMA_H

#include <sqlite3.h>

#include "interpose/trace/records/loader.h"

void access_load(struct loader *loader, const struct spool_access *record);
/* Resolves the stacks of the calls once the process is read. */
void accesses_resolve(struct loader *loader);

/* Returns a time of the call on the run's clock; needs clock_align. */
int64_t access_run_ns(const struct trace *trace, const struct trace_access *call, int64_t ns);

/* Says whether all ranks that opened a file call that function on it together. */
bool access_is_collective(uint16_t function);

/* Writes the tables rma and file_call, and with calls the rows of `call`. Returns 0, or -1: the database says why. */
int accesses_write(const struct trace *trace, sqlite3 *database, bool calls);

#endif

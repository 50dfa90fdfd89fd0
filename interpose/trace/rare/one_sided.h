/* Calls of one-sided communication: timed, with bytes and target. They make no messages and bound no rounds. */
#ifndef MPISTAIR_TRACE_RMA_H
#define MPISTAIR_TRACE_RMA_H

#include <sqlite3.h>

#include "interpose/trace/rare/loader.h"

void rma_load(struct loader *loader, const struct spool_rma *record);
/* Once the process is read: its stacks. */
void rma_resolve(struct loader *loader);

/* A time of the call on the run's clock; needs clock_align. */
int64_t rma_run_ns(const struct trace *trace, const struct trace_rma *call, int64_t ns);

/* The table rma, and with calls the rows of `call`. 0, or -1: the database says why. */
int rma_write(const struct trace *trace, sqlite3 *database, bool calls);

#endif

/* Loads stacks of call sites and keeps equal ones of all processes once. */
#ifndef MPISTAIR_TRACE_STACK_H
#define MPISTAIR_TRACE_STACK_H

#include <sqlite3.h>

#include "interpose/trace/records/loader.h"

void stack_load(struct loader *loader, const struct spool_stack *record);
/* Resolves the stacks of operations and collectives once the process is read. */
void stacks_resolve(struct loader *loader);

/* Writes the table stack. Returns 0, or -1: the database says why. */
int stacks_write(const struct trace *trace, sqlite3 *database);

#endif

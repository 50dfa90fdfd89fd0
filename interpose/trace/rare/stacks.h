/* Stacks of call sites, equal ones of all processes once. */
#ifndef MPISTAIR_TRACE_STACK_H
#define MPISTAIR_TRACE_STACK_H

#include <sqlite3.h>

#include "interpose/trace/rare/loader.h"

void stack_load(struct loader *loader, const struct spool_stack *record);
/* Once the process is read: those of its operations and collectives. */
void stacks_resolve(struct loader *loader);

/* The table stack. 0, or -1: the database says why. */
int stacks_write(const struct trace *trace, sqlite3 *database);

#endif

/* Finds the names of call sites. */
#ifndef MPISTAIR_TRACE_SYMBOLS_H
#define MPISTAIR_TRACE_SYMBOLS_H

#include <stdbool.h>

#include "interpose/trace/state/trace.h"

/* Returns whether libdw can be used; if not, *reason says why. */
bool callsites_can_be_resolved(const char **reason);

/* Names functions, files and lines by the modules' symbols and debug information (elfutils), where they have any. */
void callsites_resolve(struct trace *trace);

#endif

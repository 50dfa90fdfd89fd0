/* Finds the names of call sites. */
#ifndef MPISTAIR_TRACE_SYMBOLS_H
#define MPISTAIR_TRACE_SYMBOLS_H

#include "interpose/trace/state/trace.h"

/* Names functions, files and lines by the modules' symbols and debug information (elfutils), where they have any. */
void callsites_resolve(struct trace *trace);

#endif

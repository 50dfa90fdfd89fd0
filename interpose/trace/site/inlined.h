/* Finds the functions that a compiler inlined at a call site. */
#ifndef MPISTAIR_TRACE_INLINED_H
#define MPISTAIR_TRACE_INLINED_H

#include "interpose/trace/state/trace.h"
#include "interpose/trace/site/libdw.h"

/* Names the function of the source that has the call at an address of the module, and its callers up to the function of
 * the program, which is the symbol of the call site. Leaves the call site as it is where nothing was inlined there, and
 * where the module has no debug information. */
void inlined_resolve(const struct libdw *libdw, struct trace_callsite *callsite, Dwfl_Module *module,
                     GElf_Addr address);

#endif

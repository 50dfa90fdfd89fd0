/* Which send met which receive. */
#ifndef MPISTAIR_TRACE_MATCH_H
#define MPISTAIR_TRACE_MATCH_H

#include "error.h"
#include "trace.h"

/* Sets partner and uncertain of all operations, and reason of those without one. Needs trace_load. 0, or -1 without
 * memory. */
int match(struct trace *trace, struct error *error);

#endif

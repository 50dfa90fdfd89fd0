/* Gives SQL the division of MPI's functions by what a rank does in them, together with all calls. */
#ifndef MPISTAIR_REPORT_ACTIVITY_H
#define MPISTAIR_REPORT_ACTIVITY_H

#include <sqlite3.h>

#include "report/collect/report.h"
#include "share/base/error.h"

extern const char *const activity_name[SPENT_COUNT]; /* for a reader: computation, point-to-point ... */

/* Makes temp.function_activity(id, name, activity), of the trace's functions, the view temp.activity_call(rank,
 * function, activity, begin_ns, call_ns, callsite) of all calls, and temp.activity_round with the same columns:
 * rounds of messages and collectives, of traces that have no calls. Returns 0, or -1 with the reason. */
int activity_tables_make(sqlite3 *database, const char *path, struct error *error);

#endif

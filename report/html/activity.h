/* Divides the functions of MPI by what a rank does in them, and gives SQL that division together with all calls. */
#ifndef MPISTAIR_REPORT_ACTIVITY_H
#define MPISTAIR_REPORT_ACTIVITY_H

#include <sqlite3.h>

#include "share/base/error.h"

enum activity {
    ACTIVITY_COMPUTATION, /* outside MPI */
    ACTIVITY_POINT_TO_POINT,
    ACTIVITY_COLLECTIVE,
    ACTIVITY_ONE_SIDED,
    ACTIVITY_FILE,
    ACTIVITY_OTHER,
    ACTIVITY_COUNT,
};
extern const char *const activity_name[ACTIVITY_COUNT];

/* Returns what a rank does in a function, by its name ("MPI_Isend"). */
enum activity activity_of(const char *function);

/* Makes temp.function_activity(id, name, activity), of the trace's functions, the view temp.activity_call(rank,
 * function, activity, begin_ns, call_ns, callsite) of all calls, and temp.activity_round with the same columns:
 * rounds of messages and collectives, of traces that have no calls. Returns 0, or -1 with the reason. */
int activity_tables_make(sqlite3 *database, const char *path, struct error *error);

#endif

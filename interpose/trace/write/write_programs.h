/* Writes which program each rank ran: a launcher may start several, as mpiexec -n 1 ./a : -n 2 ./b does. */
#ifndef MPISTAIR_TRACE_WRITE_PROGRAMS_H
#define MPISTAIR_TRACE_WRITE_PROGRAMS_H

#include <sqlite3.h>

#include "interpose/trace/state/trace.h"

/* Holds a text for the column run.command: the command of all processes, or, where they differ, all of them with their
 * ranks. */
struct programs_text {
    char text[4096];
};

/* Sets text. */
void programs_describe(const struct trace *trace, struct programs_text *text);

/* Writes the table program. Returns 0, or -1 where SQLite failed. */
int write_programs(const struct trace *trace, sqlite3 *database);

#endif

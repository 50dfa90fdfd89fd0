/* Opens the trace that a user names: a trace.db, or spools, which are ingested first (the run was too large for the end
 * of the job, or it was killed). */
#ifndef MPISTAIR_REPORT_OPEN_TRACE_H
#define MPISTAIR_REPORT_OPEN_TRACE_H

#include <sqlite3.h>

struct open_trace {
    sqlite3 *database;
    char *path; /* of the database that was opened, as text to show: bytes that are no UTF-8 are replaced */
};

/* Opens path read-only. A folder of spools, or one spool of it, stands for FOLDER/trace.db, written if it is missing or
 * older than a spool. Returns an exit code and has printed the reason if it is not 0; close_trace in either case. */
int open_trace(struct open_trace *trace, const char *path);
void close_trace(struct open_trace *trace);

#endif

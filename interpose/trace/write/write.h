/* Writes the run as trace.db. */
#ifndef MPISTAIR_TRACE_WRITE_H
#define MPISTAIR_TRACE_WRITE_H

#include "interpose/trace/state/trace.h"
#include "share/base/error.h"

/* What ingest prints, read from the finished database. */
struct trace_summary {
    int64_t posted;
    int64_t messages;
    int64_t unmatched;
    char verdict[256];
};

/* Writes the database into the folder `unfinished` of the same file system, NULL: beside path, and renames it. calls
 * asks for rows in `call`; jobs, from 1, is the number of processors to use. Returns 0, or -1 with the reason and path
 * as it was. */
int trace_write(struct trace *trace, const char *path, const char *unfinished, bool calls, size_t jobs,
                struct trace_summary *summary, struct error *error);

/* Prints a note on stderr if there is a file at path: what it is and holds, as "recorded 2026-01-31 12:00, 8 ranks, 3
 * predictions, 1 replay". when is "is replaced", or what else happens to it. */
void replaced_note(const char *path, const char *when);

#endif

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

/* How a trace is written. */
struct trace_choice {
    const char *unfinished; /* folder of the same file system in which it grows; NULL: beside its path */
    size_t jobs;            /* processors to use, from 1 */
    size_t shards; /* files for rows of single calls and messages; 0: as many as the run is long for, 1: none */
    bool calls;    /* rows in `call` are wanted */
};

/* Writes the database and renames it to path. Returns 0, or -1 with the reason and path as it was. */
int trace_write(struct trace *trace, const char *path, const struct trace_choice *choice, struct trace_summary *summary,
                struct error *error);

/* Prints a note on stderr if there is a file at path: what it is and holds, as "recorded 2026-01-31 12:00, 8 ranks, 3
 * predictions, 1 replay". when is "is replaced", or what else happens to it. */
void replaced_note(const char *path, const char *when);

#endif

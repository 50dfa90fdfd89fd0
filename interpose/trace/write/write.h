/* Writes the run as trace.db. */
#ifndef MPISTAIR_TRACE_WRITE_H
#define MPISTAIR_TRACE_WRITE_H

#include "share/base/error.h"
#include "interpose/trace/state/trace.h"

/* Holds what ingest tells its user, read from the finished database. */
struct trace_summary {
    int64_t posted;
    int64_t messages;
    int64_t unmatched;
    char verdict[256];
};

/* Writes the database beside path and renames it. calls asks for rows in `call`. Returns 0, or -1 with the reason and
 * path as it was. */
int trace_write(struct trace *trace, const char *path, bool calls, struct trace_summary *summary, struct error *error);

#endif

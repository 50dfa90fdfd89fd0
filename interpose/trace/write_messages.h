/* The rows of what the ranks did: messages, what has no partner, calls, collectives, rounds, kinds. */
#ifndef MPISTAIR_TRACE_WRITE_MESSAGES_H
#define MPISTAIR_TRACE_WRITE_MESSAGES_H

#include <sqlite3.h>

#include "trace.h"

/* Each 0, or -1: the database says why, or there was no memory. */
int write_operations(const struct trace *trace, sqlite3 *database, bool calls);
int write_calls(const struct trace *trace, sqlite3 *database);
int write_collectives(const struct trace *trace, sqlite3 *database);
int write_rounds(const struct trace *trace, sqlite3 *database);

#endif

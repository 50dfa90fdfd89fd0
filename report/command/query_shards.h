/* Runs a query in each shard of a trace by itself, some at a time. */
#ifndef MPISTAIR_COMMAND_QUERY_SHARDS_H
#define MPISTAIR_COMMAND_QUERY_SHARDS_H

#include "report/command/commands.h"
#include "share/base/error.h"

/* Makes temp.part, with the columns of the statement behind the column shard, and all its rows in the order of shards.
 * In each the tables of shards have the rows of one; a trace in one file is one. jobs: at most so many at a time, 0: as
 * many as processors. Returns 0, or -1 with the reason. */
int query_shards(const struct open_trace *trace, sqlite3_stmt *statement, size_t jobs, struct error *error);

#endif

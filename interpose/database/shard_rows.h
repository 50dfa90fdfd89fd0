/* The tables of a trace in shards, as if they were in one file. */
#ifndef MPISTAIR_DATABASE_SHARD_ROWS_H
#define MPISTAIR_DATABASE_SHARD_ROWS_H

#include <sqlite3.h>

/* Makes the module of the virtual tables known to a connection, which can then read the shards of one trace. Returns an
 * SQLite code. */
int shard_rows_register(sqlite3 *database);

#endif

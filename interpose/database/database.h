/* Opening a trace.db that somebody hands us: an error that names the file instead of a surprise later. */
#ifndef MPISTAIR_DATABASE_DATABASE_H
#define MPISTAIR_DATABASE_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "share/base/error.h"

/* user_version of the schema that this build writes and reads. */
#define TRACE_SCHEMA_VERSION 5

/* Opens an existing trace.db of our schema, for one thread at a time; read-only where not writable. 0 and a handle for
 * sqlite3_close, or -1 with the reason: missing, not SQLite, cut off, not a trace, of another version. */
int database_open(const char *path, bool writable, sqlite3 **database, struct error *error);

/* error_set with "path: what: SQLite's own message"; returns -1. */
int database_error(sqlite3 *database, const char *path, const char *what, struct error *error);

#endif

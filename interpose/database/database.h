/* Opens a trace.db named by the user: a wrong file gives an error that names it, instead of a failing query later. */
#ifndef MPISTAIR_DATABASE_DATABASE_H
#define MPISTAIR_DATABASE_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "share/base/error.h"

/* user_version of the schema that this build writes and reads. */
#define TRACE_SCHEMA_VERSION 14

/* Ranks of a trace are below this; a damaged one may name any. */
enum { MAX_RANK = 1 << 24 };

/* Opens an existing trace.db of our schema, for one thread at a time; read-only where not writable. Returns 0 and a
 * handle for sqlite3_close, or -1 with the reason: missing, a folder, empty, cut off, not SQLite, not a trace, or of
 * another version. */
int database_open(const char *path, bool writable, sqlite3 **database, struct error *error);

/* Connects to a file as SQLite does, for one thread at a time. sum() stops at the largest integer, or the smallest; all
 * else is as in SQLite's. Returns an SQLite code. */
int database_connect(const char *path, int flags, sqlite3 **database);

/* Sets error to "path: what: SQLite's own message" and returns -1. */
int database_error(sqlite3 *database, const char *path, const char *what, struct error *error);

#endif

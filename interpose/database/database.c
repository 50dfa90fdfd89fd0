/* A file named by the user may be anything. It is checked here once, before a query can fail with a message of SQLite's
 * that does not say what is wrong with the file. */
#include "interpose/database/database.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int database_error(sqlite3 *database, const char *path, const char *what, struct error *error)
{
    return error_set(error, "%s: %s: %s", path, what, sqlite3_errmsg(database));
}

/* Reads one integer of a pragma or query. Returns 0, or -1 with the reason. */
static int read_integer(sqlite3 *database, const char *path, const char *sql, sqlite3_int64 *value, struct error *error)
{
    sqlite3_stmt *statement = NULL;
    int result = 0;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK || sqlite3_step(statement) != SQLITE_ROW)
        result = database_error(database, path, "not a trace database", error);
    else
        *value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return result;
}

int database_open(const char *path, bool writable, sqlite3 **database, struct error *error)
{
    if (access(path, R_OK | (writable ? W_OK : 0)) != 0)
        return error_set(error, "%s: cannot be opened: %s", path, strerror(errno));
    sqlite3 *opened = NULL;
    int flags = writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    int result = 0;
    sqlite3_int64 version = 0, tables = 0, runs = 0;
    if (sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        result = database_error(opened, path, "cannot be opened", error);
        goto out;
    }
    sqlite3_busy_timeout(opened, 10000);
    result = read_integer(opened, path, "PRAGMA user_version", &version, error);
    if (result == 0)
        result = read_integer(opened, path,
                              "SELECT count(*) FROM sqlite_master WHERE name IN ('run', 'message', 'round_process', "
                              "'prediction', 'model_error')",
                              &tables, error);
    if (result == 0 && tables != 5)
        result = error_set(
            error, "%s: an SQLite file, but not a trace of mpistair (expected what 'mpistair ingest' writes)", path);
    if (result == 0 && version != TRACE_SCHEMA_VERSION)
        result = error_set(error, "%s: schema version %lld, this mpistair reads %d: ingest the run again", path,
                           (long long)version, TRACE_SCHEMA_VERSION);
    if (result == 0)
        result = read_integer(opened, path, "SELECT count(*) FROM run", &runs, error);
    if (result == 0 && runs != 1)
        result = error_set(error, "%s: holds no run (cut off?)", path);
out:
    if (result != 0) {
        sqlite3_close(opened);
        return result;
    }
    *database = opened;
    return 0;
}

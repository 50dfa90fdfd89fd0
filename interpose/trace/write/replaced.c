/* The file may be anything, also a trace of an older version: every figure is asked for by itself, and what cannot be
 * read is left out. */
#include "interpose/trace/write/write.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "share/base/error.h"

/* Returns the whole number that sql reads, -1 if it reads none. */
static int64_t number(sqlite3 *database, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t value = -1;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW &&
        sqlite3_column_type(statement, 0) == SQLITE_INTEGER)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* Appends ", 3 predictions" to a text of so many bytes if there are any. */
static void append_count(char *text, size_t bytes, int64_t n, const char *what)
{
    size_t used = strlen(text);
    if (n > 0)
        snprintf(text + used, bytes - used, ", %" PRId64 " %s%s", n, what, n == 1 ? "" : "s");
}

void replaced_note(const char *path, const char *when)
{
    struct stat status;
    sqlite3 *database = NULL;
    char holds[256] = "it is no trace of mpistair";
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
        return;
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK) {
        time_t recorded = (time_t)(number(database, "SELECT started_unix_ns FROM run") / 1000000000);
        struct tm local;
        if (recorded > 0 && localtime_r(&recorded, &local) != NULL)
            strftime(holds, sizeof holds, "recorded %Y-%m-%d %H:%M", &local);
        append_count(holds, sizeof holds, number(database, "SELECT world_size FROM run"), "rank");
        append_count(holds, sizeof holds, number(database, "SELECT count(*) FROM prediction_run"), "prediction");
        append_count(holds, sizeof holds, number(database, "SELECT count(*) FROM replay_run"), "replay");
    }
    sqlite3_close(database);
    inform("note: %s %s: %s", path, when, holds);
}

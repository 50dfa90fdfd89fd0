/* A file named by the user may be anything. It is checked here once, before a query can fail with a message of SQLite's
 * that does not say what is wrong with the file. */
#include "interpose/database/database.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interpose/database/file_fault.h"
#include "interpose/database/shard_rows.h"

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

/* Refuses a folder, and a file that is empty or cut off. */
static int check_whole(const char *path, struct error *error)
{
    static const char expected[] = "expected a trace, as 'mpistair ingest' writes it";
    char fault[FILE_FAULT_BYTES];
    switch (file_fault(path, fault)) {
    case FILE_SOUND:
        return 0;
    case FILE_UNOPENED:
        return error_set(error, "%s: %s", path, fault);
    case FILE_CUT_OFF:
        return error_set(error, "%s: %s; ingest the run again, or copy it again", path, fault);
    default:
        return error_set(error, "%s: %s; %s", path, fault, expected);
    }
}

/* Adds up what may be more than 64 bits hold (share/base/saturating.h says why). SQLite's own sum() then ends the query
 * with an error, which would cost the user all that the query shows.
 *
 * Integers are added modulo 2^64, and a carry counts how often that went beyond an end, so that a window can take
 * values out again. Reals are added with the error of each addition carried along (Neumaier, 1974), as SQLite does from
 * 3.43 on. */

struct sum {
    int64_t n, n_reals; /* values that are not NULL, and those of them that are no integers */
    int64_t low, carry; /* the integers are low + 2^64 carry */
    double real, error;
};

static void add_integer(struct sum *sum, int64_t value, int direction)
{
    int64_t before = sum->low;
    int is_out = direction > 0 ? __builtin_add_overflow(before, value, &sum->low)
                               : __builtin_sub_overflow(before, value, &sum->low);
    if (is_out)
        sum->carry += before < 0 ? -1 : 1; /* only beyond the end on whose side it was before */
}

static void add_real(struct sum *sum, double value)
{
    double total = sum->real + value;
    if (fabs(sum->real) > fabs(value))
        sum->error += (sum->real - total) + value;
    else
        sum->error += (value - total) + sum->real;
    sum->real = total;
}

/* Puts a value in (direction 1), or takes it out (-1). */
static void change(sqlite3_context *context, sqlite3_value *value, int direction)
{
    struct sum *sum = sqlite3_aggregate_context(context, sizeof *sum);
    int type = sqlite3_value_numeric_type(value);
    if (!sum || type == SQLITE_NULL)
        return;
    sum->n += direction;
    if (type == SQLITE_INTEGER) {
        add_integer(sum, sqlite3_value_int64(value), direction);
        return;
    }
    sum->n_reals += direction;
    add_real(sum, direction * sqlite3_value_double(value));
}

static void sum_step(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
    (void)n_arguments;
    change(context, arguments[0], 1);
}

static void sum_inverse(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
    (void)n_arguments;
    change(context, arguments[0], -1);
}

static void sum_value(sqlite3_context *context)
{
    const struct sum *sum = sqlite3_aggregate_context(context, 0);
    if (!sum || sum->n == 0) {
        sqlite3_result_null(context);
    } else if (sum->n_reals == 0) {
        sqlite3_result_int64(context, sum->carry == 0 ? sum->low : sum->carry > 0 ? INT64_MAX : INT64_MIN);
    } else {
        double real = isfinite(sum->error) ? sum->real + sum->error : sum->real; /* of infinities there is no error */
        sqlite3_result_double(context, real + ldexp((double)sum->carry, 64) + (double)sum->low);
    }
}

int database_connect(const char *path, int flags, sqlite3 **database)
{
    /* SQLite need not count its memory, under a lock each time; once it is in use the setting stays as it is. */
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    int result = sqlite3_open_v2(path, database, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (result != SQLITE_OK)
        return result;
    result = shard_rows_register(*database);
    if (result != SQLITE_OK)
        return result;
    return sqlite3_create_window_function(*database, "sum", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                          NULL, sum_step, sum_value, sum_value, sum_inverse, NULL);
}

/* Takes back what a command had changed that was killed before it was done; a connection that only reads cannot. */
static void take_back_interrupted(const char *path)
{
    static const char any_read[] = "SELECT 1 FROM sqlite_master LIMIT 1";
    sqlite3 *database = NULL;
    bool is_needed = database_connect(path, SQLITE_OPEN_READONLY, &database) == SQLITE_OK &&
                     sqlite3_exec(database, any_read, NULL, NULL, NULL) != SQLITE_OK &&
                     sqlite3_extended_errcode(database) == SQLITE_READONLY_ROLLBACK;
    sqlite3_close(database);
    database = NULL;
    if (is_needed && database_connect(path, SQLITE_OPEN_READWRITE, &database) == SQLITE_OK)
        sqlite3_exec(database, any_read, NULL, NULL, NULL);
    if (is_needed)
        sqlite3_close(database);
}

int database_open(const char *path, bool writable, sqlite3 **database, struct error *error)
{
    if (access(path, R_OK | (writable ? W_OK : 0)) != 0)
        return error_set(error, "%s: cannot be opened: %s", path, strerror(errno));
    if (check_whole(path, error) != 0)
        return -1;
    sqlite3 *opened = NULL;
    int result = 0;
    sqlite3_int64 version = 0, tables = 0, runs = 0;
    if (!writable)
        take_back_interrupted(path);
    if (database_connect(path, writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY, &opened) != SQLITE_OK) {
        result = database_error(opened, path, "cannot be opened", error);
        goto out;
    }
    sqlite3_busy_timeout(opened, 10000);
    result = read_integer(opened, path, "PRAGMA user_version", &version, error);
    if (result == 0)
        result = read_integer(opened, path,
                              "SELECT count(*) FROM sqlite_master WHERE name IN ('run', 'message', 'round_process', "
                              "'prediction', 'kind_error')",
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
        result = error_set(error, "%s: holds no run, as if ingest had been interrupted: ingest the run again", path);
out:
    if (result != 0) {
        sqlite3_close(opened);
        return result;
    }
    *database = opened;
    return 0;
}

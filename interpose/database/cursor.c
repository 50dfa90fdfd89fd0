/* Everything that report and query print passes through this cursor. A trace may hold any bytes (host names, command
 * lines, MPI's version text), so text is made harmless here once, and errors are kept until the caller closes the
 * cursor. */
#include "interpose/database/cursor.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/database.h"
#include "share/base/memory.h"
#include "share/base/utf8.h"

void pool_release(struct pool *pool)
{
    while (pool->first != NULL) {
        struct pool_text *next = pool->first->next;
        free(pool->first);
        pool->first = next;
    }
}

const char *pool_clean(struct pool *pool, const char *bytes, size_t length)
{
    struct pool_text *entry = xmalloc(sizeof *entry + length + 1);
    utf8_clean(entry->text, bytes, length);
    entry->next = pool->first;
    pool->first = entry;
    return entry->text;
}

void cursor_open(struct cursor *rows, sqlite3 *database, const char *path, const char *sql, struct error *error)
{
    *rows = (struct cursor){.database = database, .path = path, .error = error};
    if (sqlite3_prepare_v2(database, sql, -1, &rows->statement, NULL) != SQLITE_OK)
        rows->result = database_error(database, path, "cannot be read", error);
}

void cursor_bind(struct cursor *rows, const char *letters, ...)
{
    va_list values;
    va_start(values, letters);
    for (int i = 1; rows->result == 0 && letters[i - 1] != '\0'; i++)
        if (letters[i - 1] == 'i')
            sqlite3_bind_int64(rows->statement, i, va_arg(values, int64_t));
        else
            sqlite3_bind_text(rows->statement, i, va_arg(values, const char *), -1, SQLITE_STATIC);
    va_end(values);
}

bool cursor_next(struct cursor *rows)
{
    if (rows->result != 0)
        return false;
    int step = sqlite3_step(rows->statement);
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        rows->result = database_error(rows->database, rows->path, "cannot be read", rows->error);
    return step == SQLITE_ROW;
}

int cursor_close(struct cursor *rows)
{
    sqlite3_finalize(rows->statement);
    rows->statement = NULL;
    return rows->result;
}

int cursor_numbers(sqlite3 *database, const char *path, const char *sql, int64_t *numbers, int n, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, path, sql, error);
    bool found = cursor_next(&rows);
    for (int i = 0; i < n; i++)
        numbers[i] = found ? cursor_integer(&rows, i) : 0;
    return cursor_close(&rows);
}

int64_t cursor_integer(struct cursor *rows, int column)
{
    return sqlite3_column_int64(rows->statement, column);
}

double cursor_real(struct cursor *rows, int column)
{
    if (sqlite3_column_type(rows->statement, column) == SQLITE_NULL)
        return NAN;
    return sqlite3_column_double(rows->statement, column);
}

const char *cursor_text(struct cursor *rows, int column, struct pool *pool)
{
    const unsigned char *text = sqlite3_column_text(rows->statement, column);
    if (text == NULL)
        return "";
    size_t length = (size_t)sqlite3_column_bytes(rows->statement, column);
    return pool_clean(pool, (const char *)text, length);
}

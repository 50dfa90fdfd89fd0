/* Writes tables of many columns in one line of code each: the letters of row_insert stand for types and for the value
 * that means NULL. A failure is kept until row_finish, so that callers need not look after every row. */
#include "interpose/database/row.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/memory.h"
#include "share/base/utf8.h"

struct row row_prepare(sqlite3 *database, const char *table, int columns)
{
    struct row row = {.database = database};
    char sql[512];
    int used = snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (?", table);
    for (int i = 1; i < columns; i++)
        used += snprintf(sql + used, sizeof sql - (size_t)used, ",?");
    snprintf(sql + used, sizeof sql - (size_t)used, ")");
    row.failed = sqlite3_prepare_v2(database, sql, -1, &row.statement, NULL) != SQLITE_OK;
    return row;
}

/* A trace is valid UTF-8, which other programs expect of SQLite, while names of files may be any bytes: what is no
 * character becomes '?'. */
static int bind_text(sqlite3_stmt *statement, int column, const char *text)
{
    size_t length = text == NULL ? 0 : strlen(text), at = 0, character = 1;
    while (at < length && (character = utf8_length((const unsigned char *)text + at, length - at)) > 0)
        at += character;
    if (at == length)
        return sqlite3_bind_text(statement, column, text, -1, SQLITE_STATIC);
    char *valid = xstrdup(text);
    for (at = 0; at < length; at += character == 0 ? 1 : character)
        if ((character = utf8_length((const unsigned char *)text + at, length - at)) == 0)
            valid[at] = '?';
    return sqlite3_bind_text(statement, column, valid, -1, free);
}

static int bind_number(sqlite3_stmt *statement, int column, int64_t value, bool null)
{
    return null ? sqlite3_bind_null(statement, column) : sqlite3_bind_int64(statement, column, value);
}

void row_insert(struct row *row, const char *letters, ...)
{
    if (row->failed)
        return;
    va_list values;
    va_start(values, letters);
    int failed = 0;
    for (int column = 1; *letters != '\0'; letters++, column++) {
        if (*letters == 't') {
            failed |= bind_text(row->statement, column, va_arg(values, const char *));
        } else if (*letters == 'd') {
            double number = va_arg(values, double);
            failed |= sqlite3_bind_double(row->statement, column, number); /* NaN becomes NULL */
        } else if (*letters == 'u' || *letters == 'k') {
            uint32_t index = va_arg(values, uint32_t);
            failed |= bind_number(row->statement, column, (int64_t)index + (*letters == 'k'), index == UINT32_MAX);
        } else if (*letters == 'n' || *letters == 'b') {
            int32_t number = va_arg(values, int32_t);
            failed |= bind_number(row->statement, column, number, *letters == 'n' && number == -1);
        } else {
            int64_t number = va_arg(values, int64_t);
            bool null = (*letters == 'o' && number == INT64_MIN) || (*letters == 'z' && number == 0);
            failed |= bind_number(row->statement, column, number, null);
        }
    }
    va_end(values);
    row->failed = failed != SQLITE_OK || sqlite3_step(row->statement) != SQLITE_DONE;
    sqlite3_reset(row->statement);
}

int row_finish(struct row *row)
{
    bool failed = row->failed;
    sqlite3_finalize(row->statement);
    row->statement = NULL;
    return failed ? -1 : 0;
}

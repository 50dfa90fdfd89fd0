/* Everything that report and query print passes through this cursor. A trace may hold any bytes (host names, command
 * lines, MPI's version text), so text is made harmless here once, and errors are kept until the caller closes the
 * cursor. */
#include "interpose/database/cursor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/database.h"

void pool_release(struct pool *pool)
{
    while (pool->first != NULL) {
        struct pool_text *next = pool->first->next;
        free(pool->first);
        pool->first = next;
    }
}

/* Returns the length of the well-formed UTF-8 character at bytes (Unicode 15, table 3-7), 0 if there is none. */
static size_t utf8_length(const unsigned char *bytes, size_t left)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        size_t length;
    } forms[] = {{0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
                 {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (bytes[0] < forms[i].first_low || bytes[0] > forms[i].first_high)
            continue;
        if (forms[i].length > left)
            return 0;
        if (forms[i].length > 1 && (bytes[1] < forms[i].second_low || bytes[1] > forms[i].second_high))
            return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((bytes[k] & 0xc0) != 0x80)
                return 0;
        return forms[i].length;
    }
    return 0;
}

const char *pool_clean(struct pool *pool, const char *bytes, size_t length)
{
    struct pool_text *entry = malloc(sizeof *entry + length + 1);
    if (entry == NULL)
        return NULL;
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        const unsigned char *at = (const unsigned char *)bytes + i;
        size_t character = utf8_length(at, length - i);
        bool control = character == 1 ? at[0] < 0x20 || at[0] == 0x7f : character == 2 && at[0] == 0xc2 && at[1] < 0xa0;
        if (character == 0 || control) {
            entry->text[used++] = at[0] == '\t' || at[0] == '\n' || at[0] == '\r' ? ' ' : '?';
            i += character == 0 ? 1 : character;
        } else {
            memcpy(entry->text + used, at, character);
            used += character;
            i += character;
        }
    }
    entry->text[used] = '\0';
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

bool cursor_next(struct cursor *rows)
{
    if (rows->result != 0)
        return false;
    int step = sqlite3_step(rows->statement);
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        rows->result = database_error(rows->database, rows->path, "cannot be read", rows->error);
    return step == SQLITE_ROW;
}

void cursor_no_memory(struct cursor *rows)
{
    rows->result = error_set(rows->error, "%s: no memory for its rows", rows->path);
}

int cursor_close(struct cursor *rows)
{
    sqlite3_finalize(rows->statement);
    rows->statement = NULL;
    return rows->result;
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
    const char *clean = pool_clean(pool, (const char *)text, length);
    if (clean == NULL) {
        cursor_no_memory(rows);
        return "";
    }
    return clean;
}

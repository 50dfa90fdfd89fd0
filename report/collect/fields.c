/* Reads and writes rows by the table of their members. */
#include "report/collect/fields.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/csv.h"
#include "share/base/memory.h"

static void *member_of(const void *row, const struct field *field)
{
    return (char *)row + field->offset;
}

int fields_read(const struct fields *fields, void *row, struct cursor *rows, int column, struct pool *pool)
{
    int end = sqlite3_column_count(rows->statement);
    for (size_t i = 0; i < fields->n && column < end; i++, column++) {
        void *member = member_of(row, &fields->rows[i]);
        switch (fields->rows[i].kind & ~FIELD_OPTIONAL) {
        case FIELD_INTEGER:
            *(int64_t *)member = cursor_integer(rows, column);
            break;
        case FIELD_REAL:
            *(double *)member = cursor_real(rows, column);
            break;
        case FIELD_TEXT:
            *(const char **)member = cursor_text(rows, column, pool);
            break;
        default:
            *(bool *)member = cursor_integer(rows, column) != 0;
        }
    }
    return column;
}

static bool is_known(const struct field *field, const void *member)
{
    switch (field->kind) {
    case FIELD_INTEGER | FIELD_OPTIONAL:
        return *(const int64_t *)member >= 0;
    case FIELD_TEXT | FIELD_OPTIONAL:
        return (*(const char *const *)member)[0] != '\0';
    case FIELD_REAL:
        return isfinite(*(const double *)member);
    default:
        return true;
    }
}

static struct json *json_of(const struct field *field, const void *member)
{
    if (!is_known(field, member))
        return json_null();
    switch (field->kind & ~FIELD_OPTIONAL) {
    case FIELD_INTEGER:
        return json_integer(*(const int64_t *)member);
    case FIELD_REAL:
        return json_finite(*(const double *)member);
    case FIELD_TEXT:
        return json_string(*(const char *const *)member);
    default:
        return json_boolean(*(const bool *)member);
    }
}

void fields_add(const struct fields *fields, const void *row, struct json *object)
{
    for (size_t i = 0; i < fields->n; i++)
        json_set_literal(object, fields->rows[i].name, json_of(&fields->rows[i], member_of(row, &fields->rows[i])));
}

struct json *fields_object(const struct fields *fields, const void *row)
{
    struct json *object = json_object();
    fields_add(fields, row, object);
    return object;
}

struct json *fields_array(const struct fields *fields, const void *rows, size_t n)
{
    struct json *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_add(array, fields_object(fields, (const char *)rows + i * fields->bytes));
    return array;
}

/* Prepares "begin table(name, name, ...)", or "begin table VALUES (?, ?, ...)"; NULL if that fails. */
static sqlite3_stmt *fields_statement(const struct fields *fields, sqlite3 *database, const char *begin,
                                      const char *table, bool named)
{
    sqlite3_stmt *statement = NULL;
    char *sql = xasprintf("%s %s%s", begin, table, named ? "(" : " VALUES (");
    for (size_t i = 0; i < fields->n; i++) {
        char *longer = xasprintf("%s%s%s", sql, i == 0 ? "" : ", ", named ? fields->rows[i].name : "?");
        free(sql);
        sql = longer;
    }
    char *whole = xasprintf("%s)", sql);
    sqlite3_prepare_v2(database, whole, -1, &statement, NULL);
    free(whole);
    free(sql);
    return statement;
}

static int fields_bind(const struct fields *fields, const void *row, sqlite3_stmt *statement)
{
    int failed = SQLITE_OK;
    for (int i = 0; i < (int)fields->n; i++) {
        const void *member = (const char *)row + fields->rows[i].offset;
        int kind = fields->rows[i].kind & ~FIELD_OPTIONAL;
        if (kind == FIELD_REAL)
            failed |= sqlite3_bind_double(statement, i + 1, *(const double *)member); /* NaN becomes NULL */
        else if (kind == FIELD_TEXT)
            failed |= sqlite3_bind_text(statement, i + 1, *(const char *const *)member, -1, SQLITE_STATIC);
        else
            failed |= sqlite3_bind_int64(statement, i + 1,
                                         kind == FIELD_INTEGER ? *(const int64_t *)member : *(const bool *)member);
    }
    return failed;
}

int fields_store(const struct fields *fields, const void *rows, size_t n, sqlite3 *database, const char *table)
{
    char *drop = xasprintf("DROP TABLE IF EXISTS %s", table);
    bool failed = sqlite3_exec(database, drop, NULL, NULL, NULL) != SQLITE_OK;
    free(drop);
    sqlite3_stmt *make = fields_statement(fields, database, "CREATE TABLE", table, true);
    failed = failed || sqlite3_step(make) != SQLITE_DONE;
    sqlite3_finalize(make);
    sqlite3_stmt *insert = fields_statement(fields, database, "INSERT INTO", table, false);
    for (size_t i = 0; !failed && i < n; i++) {
        failed = fields_bind(fields, (const char *)rows + i * fields->bytes, insert) != SQLITE_OK ||
                 sqlite3_step(insert) != SQLITE_DONE;
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    return failed ? -1 : 0;
}

void statement_csv(FILE *stream, sqlite3_stmt *statement)
{
    int n_columns = sqlite3_column_count(statement);
    for (int i = 0; i < n_columns; i++) {
        if (sqlite3_column_type(statement, i) == SQLITE_FLOAT)
            fprintf(stream, "%.17g", sqlite3_column_double(statement, i));
        else if (sqlite3_column_text(statement, i) != NULL)
            csv_text(stream, (const char *)sqlite3_column_text(statement, i));
        fputc(i + 1 < n_columns ? ',' : '\n', stream);
    }
}

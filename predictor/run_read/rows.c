/* Takes values of rows, which a damaged or foreign database may hold anything in, functions, and calls of the
 * table call_row. */
#include <stdarg.h>

#include "predictor/run_read/reading.h"
#include "share/base/array.h"

/* Times and lengths stay so far below 64 bits that four of them can be added. */
#define MAX_TIME_NS (INT64_MAX / 4)

uint32_t item_pack(struct reading *reading, int64_t begin_ns, int64_t at_ns)
{
    if (at_ns == NO_TIME)
        return READ_ITEM_NO_TIME;
    if (at_ns >= begin_ns && at_ns - begin_ns <= READ_ITEM_SHORT_NS)
        return (uint32_t)(at_ns - begin_ns);
    ARRAY_ADD(reading->long_ns, reading->n_long, at_ns - begin_ns);
    return READ_ITEM_SHORT_NS + (uint32_t)reading->n_long;
}

int item_add(struct reading *reading, uint32_t rank, const struct item *item)
{
    struct read_rank *r = &reading->ranks[rank];
    if (r->n_items >= UINT32_MAX - 1)
        return reading_too_large(reading);
    const struct read_item read = {.begin_ns = item->begin_ns,
                                   .length = item_pack(reading, item->begin_ns, item->end_ns),
                                   .done = item_pack(reading, item->begin_ns, item->done_ns),
                                   .object = item->object,
                                   .site = item->site,
                                   .completed = item->completed,
                                   .kind = item->kind,
                                   .waits = item->waits,
                                   .processor = item->processor};
    ARRAY_ADD(r->items, r->n_items, read);
    return reading->n_long < READ_ITEM_SHORT_NS ? 0 : reading_too_large(reading);
}

/* Takes the value of a column. */
static int take_value(struct reading *reading, struct cursor *rows, const char *table, int column, char letter,
                      void *value)
{
    /* Before the value is taken, which may convert it. */
    bool is_integer = letter == 'p' && sqlite3_column_type(rows->statement, column) == SQLITE_INTEGER;
    int64_t number = cursor_integer(rows, column);
    bool is_null = number == 0 && sqlite3_column_type(rows->statement, column) == SQLITE_NULL;
    switch (letter) {
    case 'r':
    case 'R':
        if (letter == 'R' && is_null)
            return 0;
        if (number < 0 || (size_t)number >= reading->program->n_ranks)
            return error_set(reading->error, "%s: %s.%s: rank %lld, but the table process has %zu ranks", reading->path,
                             table, sqlite3_column_name(rows->statement, column), (long long)number,
                             reading->program->n_ranks);
        *(uint32_t *)value = (uint32_t)number;
        return 0;
    case 't':
    case 'l':
        if ((number > MAX_TIME_NS || number < -MAX_TIME_NS) && number != NO_TIME)
            return error_set(reading->error, "%s: %s.%s: %lld ns is no time of a run", reading->path, table,
                             sqlite3_column_name(rows->statement, column), (long long)number);
        number = is_null ? NO_TIME : number;
        *(int64_t *)value = letter == 'l' && number < 0 && number != NO_TIME ? 0 : number;
        return 0;
    case 'b':
        if (number < 0)
            return error_set(reading->error, "%s: %s.%s: %lld bytes; expected 0 or more", reading->path, table,
                             sqlite3_column_name(rows->statement, column), (long long)number);
        *(uint64_t *)value = (uint64_t)number;
        return 0;
    case 'c':
        *(uint32_t *)value = number < 0 ? 0 : number > INT32_MAX ? INT32_MAX : (uint32_t)number;
        return 0;
    case 's':
        *(int64_t *)value = is_null ? -1 : number;
        return 0;
    case 'f':
        *(uint32_t *)value = map_find(&reading->function_of_id, (struct map_key){(uint64_t)number, 0, 0});
        return 0;
    case 'F': {
        struct pool names = {0};
        *(uint32_t *)value = function_by_name(reading, cursor_text(rows, column, &names));
        pool_release(&names);
        return 0;
    }
    case 'p':
        *(uint16_t *)value = is_integer && number >= 0 && number < UINT16_MAX ? (uint16_t)(number + 1) : 0;
        return 0;
    default:
        *(int64_t *)value = number;
        return 0;
    }
}

int row_read(struct reading *reading, struct cursor *rows, const char *table, const char *letters, ...)
{
    va_list values;
    int result = 0;
    va_start(values, letters);
    for (int column = 0; result == 0 && letters[column] != '\0'; column++)
        if (letters[column] != '.')
            result = take_value(reading, rows, table, column, letters[column], va_arg(values, void *));
    va_end(values);
    return result;
}

int rows_read(struct reading *reading, const char *sql, int (*row)(void *context, struct cursor *rows), void *context)
{
    struct cursor rows;
    cursor_open(&rows, reading->database, reading->path, sql, reading->error);
    while (cursor_next(&rows))
        if (row(context, &rows) != 0)
            rows.result = -1;
    return cursor_close(&rows);
}

static int add_name(void *context, struct cursor *rows)
{
    struct reading *reading = context;
    int64_t id;
    uint32_t function;
    row_read(reading, rows, "function", "iF", &id, &function);
    *map_at(&reading->function_of_id, (struct map_key){(uint64_t)id, 0, 0}) = function;
    return 0;
}

int names_read(struct reading *reading)
{
    return rows_read(reading, "SELECT id, name FROM function", add_name, reading);
}

static int add_call(void *context, struct cursor *rows)
{
    struct reading *reading = context;
    struct item item = {.done_ns = NO_TIME, .object = NO_OBJECT, .kind = ITEM_CALL};
    uint32_t rank, function, idle;
    int64_t length_ns, callsite;
    if (row_read(reading, rows, "call_row", "rftlccs", &rank, &function, &item.begin_ns, &length_ns, &item.completed,
                 &idle, &callsite) != 0)
        return -1;
    if (function == MAP_ABSENT || item.begin_ns == NO_TIME || length_ns == NO_TIME)
        return error_set(reading->error, "%s: call_row: function %lld of rank %u is not in the table function, or NULL",
                         reading->path, (long long)cursor_integer(rows, 1), rank);
    if (idle > 0) {
        item.kind = ITEM_IDLE;
        item.object = idle;
    }
    item.end_ns = item.begin_ns + length_ns;
    item.site = site_by(reading, function, callsite);
    return item_add(reading, rank, &item);
}

int calls_read(struct reading *reading)
{
    return rows_read(reading, "SELECT rank, function, begin_ns, call_ns, completed, idle_calls, callsite FROM call_row",
                     add_call, reading);
}

/* Takes values of rows, which a damaged or foreign database may hold anything in, and calls of the table call_row. */
#include <stdlib.h>

#include "predictor/run_read/reading.h"
#include "share/base/array.h"

/* Times and lengths stay so far below 64 bits that four of them can be added. */
#define MAX_TIME_NS (INT64_MAX / 4)

int item_add(struct reading *reading, uint32_t rank, const struct item *item)
{
    struct read_rank *r = &reading->ranks[rank];
    if (r->n_items >= UINT32_MAX - 1)
        return reading_too_large(reading);
    array_grow(&r->items, r->n_items, sizeof *item);
    r->items[r->n_items++] = *item;
    return 0;
}

static bool is_null(struct cursor *rows, int column)
{
    return sqlite3_column_type(rows->statement, column) == SQLITE_NULL;
}

int row_rank(struct reading *reading, struct cursor *rows, int column, const char *what, uint32_t *value)
{
    int64_t rank = cursor_integer(rows, column);
    if (rank < 0 || (size_t)rank >= reading->program->n_ranks)
        return error_set(reading->error, "%s: %s: rank %lld, but the table process has %zu ranks", reading->path, what,
                         (long long)rank, reading->program->n_ranks);
    *value = (uint32_t)rank;
    return 0;
}

int row_time(struct reading *reading, struct cursor *rows, int column, const char *what, int64_t *value)
{
    *value = is_null(rows, column) ? NO_TIME : cursor_integer(rows, column);
    if (*value != NO_TIME && (*value > MAX_TIME_NS || *value < -MAX_TIME_NS))
        return error_set(reading->error, "%s: %s: %lld ns is no time of a run", reading->path, what, (long long)*value);
    return 0;
}

int row_length(struct reading *reading, struct cursor *rows, int column, const char *what, int64_t *value)
{
    if (row_time(reading, rows, column, what, value) != 0)
        return -1;
    if (*value != NO_TIME && *value < 0)
        *value = 0;
    return 0;
}

int row_bytes(struct reading *reading, struct cursor *rows, int column, const char *what, uint64_t *value)
{
    int64_t bytes = cursor_integer(rows, column);
    if (bytes < 0)
        return error_set(reading->error, "%s: %s: %lld bytes; expected 0 or more", reading->path, what,
                         (long long)bytes);
    *value = (uint64_t)bytes;
    return 0;
}

int row_count(struct cursor *rows, int column, uint32_t *value)
{
    int64_t count = cursor_integer(rows, column);
    *value = count < 0 ? 0 : count > INT32_MAX ? INT32_MAX : (uint32_t)count;
    return 0;
}

static int add_call(struct reading *reading, struct cursor *rows)
{
    uint32_t rank = 0, idle;
    int64_t length_ns;
    struct item item = {.done_ns = NO_TIME, .object = NO_OBJECT, .kind = ITEM_CALL};
    if (row_rank(reading, rows, 0, "call_row.rank", &rank) != 0 ||
        row_time(reading, rows, 2, "call_row.begin_ns", &item.begin_ns) != 0 ||
        row_length(reading, rows, 3, "call_row.call_ns", &length_ns) != 0)
        return -1;
    uint32_t function = map_find(&reading->function_of_id, (struct map_key){(uint64_t)cursor_integer(rows, 1), 0, 0});
    if (function == MAP_ABSENT || item.begin_ns == NO_TIME || length_ns == NO_TIME)
        return error_set(reading->error, "%s: call_row: function %lld of rank %u is not in the table function, or NULL",
                         reading->path, (long long)cursor_integer(rows, 1), rank);
    row_count(rows, 4, &item.completed);
    row_count(rows, 5, &idle);
    if (idle > 0) {
        item.kind = ITEM_IDLE;
        item.object = idle;
    }
    item.end_ns = item.begin_ns + length_ns;
    item.site = site_by(reading, function, is_null(rows, 6) ? -1 : cursor_integer(rows, 6));
    return item_add(reading, rank, &item);
}

int calls_read(struct reading *reading)
{
    struct cursor rows;
    cursor_open(&rows, reading->database, reading->path,
                "SELECT rank, function, begin_ns, call_ns, completed, idle_calls, callsite FROM call_row",
                reading->error);
    while (cursor_next(&rows))
        if (add_call(reading, &rows) != 0)
            rows.result = -1;
    return cursor_close(&rows);
}

uint16_t row_processor(struct cursor *rows, int column)
{
    bool known = sqlite3_column_type(rows->statement, column) == SQLITE_INTEGER;
    int64_t number = known ? cursor_integer(rows, column) : -1;
    return number >= 0 && number < UINT16_MAX ? (uint16_t)(number + 1) : 0;
}

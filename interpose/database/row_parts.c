/* A row of a virtual table costs about what its query costs, so that who reads all rows goes to the files. How many
 * parts there are depends on the trace alone: what is added up by part, and then over the parts, is the same on all
 * machines. */
#include "interpose/database/row_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "interpose/database/cursor.h"
#include "interpose/database/database.h"
#include "share/base/memory.h"

enum { PARTS_MOST = 16 };

/* Rows of one file for which a thread of its own is worth while. */
static const int64_t rows_of_a_part = 20000;

int row_parts_init(struct row_parts *parts, sqlite3 *database, const char *path, struct error *error)
{
    enum { IS_VIEW, MESSAGES, CALLS, N_VALUES };
    int64_t values[N_VALUES] = {0};
    *parts = (struct row_parts){.database = database, .path = path, .n = 1};
    if (cursor_numbers(database, path, "SELECT count(*) FROM temp.sqlite_master WHERE name = 'message_row'", values, 1,
                       error) != 0)
        return -1;
    parts->is_view = values[IS_VIEW] > 0;
    if (parts->is_view)
        return 0;
    if (shards_read(&parts->shards, database, "main", error) != 0)
        return -1;
    size_t wanted = parts->shards.n;
    if (wanted == 0) {
        if (cursor_numbers(database, path,
                           "SELECT 0, (SELECT max(rowid) FROM message_row), (SELECT max(rowid) FROM call_row)", values,
                           N_VALUES, error) != 0)
            return -1;
        parts->last[SHARD_MESSAGES] = values[MESSAGES];
        parts->last[SHARD_CALLS] = values[CALLS];
        int64_t more = values[MESSAGES] > values[CALLS] ? values[MESSAGES] : values[CALLS];
        wanted = more > PARTS_MOST * rows_of_a_part ? PARTS_MOST : (size_t)(more / rows_of_a_part);
    }
    parts->n = wanted < 1 ? 1 : wanted > PARTS_MOST ? PARTS_MOST : wanted;
    return 0;
}

void row_parts_release(struct row_parts *parts)
{
    shards_release(&parts->shards);
}

static int reading_failed(const struct row_parts *parts, const struct shard *shard, sqlite3 *database,
                          struct error *error)
{
    if (shard == NULL)
        return database_error(database, parts->path, "cannot be read", error);
    char *fault = xasprintf("cannot be read: %s", sqlite3_errmsg(database));
    shard_error(shard, fault, error);
    free(fault);
    return -1;
}

/* Reads the rows that a connection has, to a shard or (NULL) to the trace; bounds: "BETWEEN first AND last" of their
 * numbers, or NULL. */
static int read_file(const struct row_parts *parts, const struct shard *shard, sqlite3 *database,
                     const struct row_reader *reader, const char *bounds, void *context, struct error *error)
{
    const char *table = shard_tables[reader->table].name;
    sqlite3_stmt *rows = NULL;
    int step = SQLITE_ERROR, taken = 0;
    char *sql = xasprintf("SELECT %s, %s FROM %s%s%s%s%s%s", reader->columns, parts->is_view ? "NULL" : "rowid", table,
                          bounds != NULL || reader->where != NULL ? " WHERE " : "", bounds != NULL ? "rowid " : "",
                          bounds != NULL ? bounds : "", bounds != NULL && reader->where != NULL ? " AND " : "",
                          reader->where != NULL ? reader->where : "");
    if ((reader->prepare == NULL || reader->prepare(context, database) == 0) &&
        sqlite3_prepare_v2(database, sql, -1, &rows, NULL) == SQLITE_OK)
        while (taken == 0 && (step = sqlite3_step(rows)) == SQLITE_ROW)
            taken = reader->take(context, rows, error);
    int result = taken != 0 ? -1 : step == SQLITE_DONE ? 0 : reading_failed(parts, shard, database, error);
    sqlite3_finalize(rows);
    free(sql);
    return result;
}

static int read_range(const struct row_parts *parts, size_t number, const struct row_reader *reader, void *context,
                      struct error *error)
{
    sqlite3 *database = NULL;
    int64_t last = parts->last[reader->table], width = last / (int64_t)parts->n;
    if (parts->n == 1)
        return read_file(parts, NULL, parts->database, reader, NULL, context, error);
    char first_text[32] = "-9223372036854775808", last_text[32] = "9223372036854775807";
    if (number > 0)
        snprintf(first_text, sizeof first_text, "%" PRId64, width * (int64_t)number + 1);
    if (number + 1 < parts->n)
        snprintf(last_text, sizeof last_text, "%" PRId64, width * (int64_t)(number + 1));
    char *bounds = xasprintf("BETWEEN %s AND %s", first_text, last_text);
    int result = database_open(parts->path, false, &database, error);
    if (result == 0)
        result = read_file(parts, NULL, database, reader, bounds, context, error);
    sqlite3_close(database);
    free(bounds);
    return result;
}

int row_parts_read(const struct row_parts *parts, size_t number, const struct row_reader *reader, void *context,
                   struct error *error)
{
    const struct shards *shards = &parts->shards;
    int result = 0;
    if (shards->n == 0)
        return read_range(parts, number, reader, context, error);
    for (size_t i = number * shards->n / parts->n; result == 0 && i < (number + 1) * shards->n / parts->n; i++) {
        char fault[SHARD_TEXT_BYTES];
        sqlite3 *database = shard_open(&shards->shards[i], fault);
        if (database == NULL)
            return shard_error(&shards->shards[i], fault, error);
        result = read_file(parts, &shards->shards[i], database, reader, NULL, context, error);
        sqlite3_close(database);
    }
    return result;
}

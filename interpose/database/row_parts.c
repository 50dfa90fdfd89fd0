/* A row of a virtual table costs about what its query costs, so that who reads all rows goes to the files. How many
 * parts there are depends on the trace alone: what is added up by part, and then over the parts, is the same on all
 * machines. */
#include "interpose/database/row_parts.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/cursor.h"
#include "interpose/database/database.h"
#include "share/base/memory.h"
#include "share/base/side_by_side.h"

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
    if (reader->by_index && number > 0)
        return 0;
    if (parts->n == 1 || reader->by_index)
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
        const struct shard *shard = &shards->shards[i];
        char fault[SHARD_TEXT_BYTES];
        if (reader->of_ranks && (shard->last_rank < reader->first_rank || shard->first_rank > reader->last_rank))
            continue;
        sqlite3 *database = shard_open(shard, fault);
        if (database == NULL)
            return shard_error(shard, fault, error);
        result = read_file(parts, shard, database, reader, NULL, context, error);
        sqlite3_close(database);
    }
    return result;
}

/* Rows that threads found go into one table, of which the lock guards the connection. */
struct row_copy {
    const struct row_parts *parts;
    struct row_reader reader;
    void *context; /* of prepare */
    int n_columns; /* that are copied */
    pthread_mutex_t lock;
    sqlite3_stmt *insert;
};

static int copy_row(void *context, sqlite3_stmt *row, struct error *error)
{
    struct row_copy *copy = context;
    pthread_mutex_lock(&copy->lock);
    for (int i = 0; i < copy->n_columns; i++)
        sqlite3_bind_value(copy->insert, i + 1, sqlite3_column_value(row, i));
    int step = sqlite3_step(copy->insert), result = 0;
    sqlite3_reset(copy->insert);
    if (step != SQLITE_DONE)
        result = database_error(copy->parts->database, copy->parts->path, "its rows cannot be copied", error);
    pthread_mutex_unlock(&copy->lock);
    return result;
}

static int prepare_copy(void *context, sqlite3 *database)
{
    const struct row_copy *copy = context;
    return copy->reader.prepare == NULL ? 0 : copy->reader.prepare(copy->context, database);
}

static int copy_part(void *context, size_t number, struct error *error)
{
    struct row_copy *copy = context;
    struct row_reader reader = copy->reader;
    reader.columns = "*";
    reader.take = copy_row;
    reader.prepare = prepare_copy;
    return row_parts_read(copy->parts, number, &reader, copy, error);
}

/* Makes the table and the statement that inserts into it. */
static int begin_copy(struct row_copy *copy, const char *into)
{
    sqlite3 *database = copy->parts->database;
    sqlite3_stmt *columns = NULL;
    char *sql = xasprintf("SELECT * FROM main.%s LIMIT 0", shard_tables[copy->reader.table].name);
    int result = sqlite3_prepare_v2(database, sql, -1, &columns, NULL);
    free(sql);
    sqlite3_str *make = sqlite3_str_new(database), *insert = sqlite3_str_new(database);
    bool has_id = false;
    int n = sqlite3_column_count(columns);
    sqlite3_str_appendf(make, "CREATE TEMP TABLE %s(", into);
    sqlite3_str_appendf(insert, "INSERT INTO temp.%s VALUES (", into);
    for (int i = 0; i < n; i++) {
        const char *name = sqlite3_column_name(columns, i);
        bool is_id = strcmp(name, "id") == 0;
        has_id = has_id || is_id;
        sqlite3_str_appendf(make, "%s%s%s", i == 0 ? "" : ", ", name, is_id ? " INTEGER PRIMARY KEY" : "");
        sqlite3_str_appendf(insert, "%s?%d", i == 0 ? "" : ", ", i + 1);
    }
    copy->n_columns = n + !has_id;
    if (!has_id) {
        sqlite3_str_appendf(make, ", id INTEGER PRIMARY KEY");
        sqlite3_str_appendf(insert, ", ?%d", n + 1);
    }
    sqlite3_str_appendchar(make, 1, ')');
    sqlite3_str_appendchar(insert, 1, ')');
    char *make_sql = sqlite3_str_finish(make), *insert_sql = sqlite3_str_finish(insert);
    sqlite3_finalize(columns);
    if (result == SQLITE_OK)
        result =
            make_sql == NULL || insert_sql == NULL ? SQLITE_NOMEM : sqlite3_exec(database, make_sql, NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_prepare_v2(database, insert_sql, -1, &copy->insert, NULL);
    sqlite3_free(make_sql);
    sqlite3_free(insert_sql);
    return result == SQLITE_OK ? 0 : -1;
}

int row_parts_copy(const struct row_parts *parts, const struct row_reader *reader, const char *into, void *context,
                   struct error *error)
{
    struct row_copy copy = {.parts = parts, .reader = *reader, .context = context, .lock = PTHREAD_MUTEX_INITIALIZER};
    int result = begin_copy(&copy, into);
    if (result == 0 && sqlite3_exec(parts->database, "SAVEPOINT row_copy", NULL, NULL, NULL) != SQLITE_OK)
        result = -1;
    if (result != 0)
        database_error(parts->database, parts->path, "its rows cannot be copied", error);
    else
        result = side_by_side(parts->n, 0, copy_part, &copy, error);
    sqlite3_finalize(copy.insert);
    sqlite3_exec(parts->database, "RELEASE row_copy", NULL, NULL, NULL);
    return result;
}

/* Each shard gets a connection to the trace that sees this shard alone (interpose/database/shard_rows.c), so that the
 * views hold in it. The rows of all go into one temporary table, of which the result is another query. */
#include "report/command/query_shards.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/database.h"
#include "interpose/database/shards.h"
#include "share/base/memory.h"
#include "share/base/side_by_side.h"

struct shard_query {
    const struct open_trace *trace;
    const char *sql;
    const struct shards *shards;
    pthread_mutex_t lock;
    sqlite3_stmt *insert; /* the lock guards it, and its connection */
};

/* Returns how rows of n columns go into the table; NULL without memory. */
static char *insert_sql(int n)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendf(sql, "INSERT INTO temp.part VALUES (?1");
    for (int i = 0; i < n; i++)
        sqlite3_str_appendf(sql, ", ?%d", i + 2);
    sqlite3_str_appendf(sql, ")");
    return sqlite3_str_finish(sql);
}

/* Columns of equal names are told apart by their numbers. */
static char *table_sql(sqlite3_stmt *statement)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendf(sql, "CREATE TEMP TABLE part(shard");
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        const char *name = sqlite3_column_name(statement, i);
        bool is_taken = sqlite3_stricmp(name, "shard") == 0;
        for (int k = 0; k < i; k++)
            is_taken = is_taken || sqlite3_stricmp(name, sqlite3_column_name(statement, k)) == 0;
        if (is_taken)
            sqlite3_str_appendf(sql, ", \"%w:%d\"", name, i + 1);
        else
            sqlite3_str_appendf(sql, ", \"%w\"", name);
    }
    sqlite3_str_appendf(sql, ")");
    return sqlite3_str_finish(sql);
}

static int insert_row(struct shard_query *query, int64_t number, sqlite3_stmt *row)
{
    pthread_mutex_lock(&query->lock);
    sqlite3_bind_int64(query->insert, 1, number);
    for (int i = 0; i < sqlite3_column_count(row); i++)
        sqlite3_bind_value(query->insert, i + 2, sqlite3_column_value(row, i));
    int step = sqlite3_step(query->insert);
    sqlite3_reset(query->insert);
    pthread_mutex_unlock(&query->lock);
    return step;
}

static int run_in_shard(void *context, size_t index, struct error *error)
{
    struct shard_query *query = context;
    int64_t number = query->shards->n > 0 ? query->shards->shards[index].number : 1;
    const char *path = query->trace->path;
    sqlite3 *database = NULL;
    sqlite3_stmt *rows = NULL;
    int step = SQLITE_DONE;
    if (database_open(path, false, &database, error) != 0)
        return -1;
    char *only = xasprintf("SELECT " SHARD_ONLY_FUNCTION "(%lld)", (long long)number);
    int result = sqlite3_exec(database, only, NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_prepare_v2(database, query->sql, -1, &rows, NULL);
    while (result == SQLITE_OK && (step = sqlite3_step(rows)) == SQLITE_ROW)
        if (insert_row(query, number, rows) != SQLITE_DONE)
            break;
    if (result == SQLITE_OK && step == SQLITE_ROW)
        result = error_set(error, "%s: SQL: the rows of shards found no room", path);
    else if (result != SQLITE_OK || step != SQLITE_DONE)
        result = database_error(database, path, "SQL", error);
    sqlite3_finalize(rows);
    sqlite3_close(database);
    free(only);
    return result == 0 ? 0 : -1;
}

int query_shards(const struct open_trace *trace, sqlite3_stmt *statement, size_t jobs, struct error *error)
{
    struct shards shards;
    struct shard_query query = {.trace = trace, .sql = sqlite3_sql(statement), .shards = &shards};
    if (shards_read(&shards, trace->database, "main", error) != 0)
        return -1;
    char *table = table_sql(statement), *insert = insert_sql(sqlite3_column_count(statement));
    int result = 0;
    if (table == NULL || insert == NULL || sqlite3_exec(trace->database, table, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(trace->database, insert, -1, &query.insert, NULL) != SQLITE_OK)
        result = database_error(trace->database, trace->path, "SQL", error);
    pthread_mutex_init(&query.lock, NULL);
    if (result == 0)
        result = side_by_side(shards.n > 0 ? shards.n : 1, jobs, run_in_shard, &query, error);
    pthread_mutex_destroy(&query.lock);
    sqlite3_finalize(query.insert);
    sqlite3_free(table);
    sqlite3_free(insert);
    shards_release(&shards);
    return result;
}

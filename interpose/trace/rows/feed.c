/* Feeds are virtual tables of SQLite (sqlite.org/vtab.html), eponymous only: the table has its module's name, and no
 * statement can make or change one. It can only be scanned from the first row to the last. */
#include "interpose/trace/rows/feed.h"

#include <stdio.h>
#include <stdlib.h>

#include "share/base/memory.h"

struct table {
    sqlite3_vtab base;
    const struct feed *feed;
};

struct cursor {
    sqlite3_vtab_cursor base;
    size_t at; /* index of the row's first value */
};

static int connect_table(sqlite3 *database, void *context, int argc, const char *const *argv, sqlite3_vtab **made,
                         char **error)
{
    (void)argc, (void)argv, (void)error;
    const struct feed *feed = context;
    char sql[512];
    int used = snprintf(sql, sizeof sql, "CREATE TABLE feed(c0");
    for (size_t i = 1; i < feed->columns; i++)
        used += snprintf(sql + used, sizeof sql - (size_t)used, ",c%zu", i);
    snprintf(sql + used, sizeof sql - (size_t)used, ")");
    int result = sqlite3_declare_vtab(database, sql);
    if (result != SQLITE_OK)
        return result;
    struct table *table = xcalloc(1, sizeof *table);
    table->feed = feed;
    *made = &table->base;
    return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *table)
{
    free(table);
    return SQLITE_OK;
}

static int plan_scan(sqlite3_vtab *table, sqlite3_index_info *plan)
{
    (void)table;
    plan->estimatedCost = 1e6;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **opened)
{
    (void)table;
    struct cursor *cursor = xcalloc(1, sizeof *cursor);
    *opened = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
    free(cursor);
    return SQLITE_OK;
}

static const struct feed *feed_of(const sqlite3_vtab_cursor *cursor)
{
    return ((const struct table *)cursor->pVtab)->feed;
}

static int go_first(sqlite3_vtab_cursor *cursor, int plan, const char *plan_text, int argc, sqlite3_value **argv)
{
    (void)plan, (void)plan_text, (void)argc, (void)argv;
    ((struct cursor *)cursor)->at = 0;
    return SQLITE_OK;
}

static int go_next(sqlite3_vtab_cursor *cursor)
{
    ((struct cursor *)cursor)->at += feed_of(cursor)->columns;
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *cursor)
{
    return ((struct cursor *)cursor)->at >= feed_of(cursor)->n_values;
}

static int get_column(sqlite3_vtab_cursor *cursor, sqlite3_context *result, int column)
{
    const struct feed *feed = feed_of(cursor);
    int64_t value = feed->values[((struct cursor *)cursor)->at + (size_t)column];
    const char *text = feed->text != NULL ? feed->text(column, value) : NULL;
    if (text != NULL)
        sqlite3_result_text(result, text, -1, SQLITE_STATIC);
    else if (value != FEED_NULL)
        sqlite3_result_int64(result, value);
    return SQLITE_OK;
}

static int get_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
    *id = (sqlite3_int64)((struct cursor *)cursor)->at;
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .xConnect = connect_table,
    .xBestIndex = plan_scan,
    .xDisconnect = disconnect_table,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = go_first,
    .xNext = go_next,
    .xEof = at_end,
    .xColumn = get_column,
    .xRowid = get_rowid,
};

int feed_begin(struct feed *feed, sqlite3 *database)
{
    char name[64], sql[256];
    snprintf(name, sizeof name, "feed_%s", feed->table);
    snprintf(sql, sizeof sql, "INSERT INTO %s SELECT * FROM %s", feed->table, name);
    return sqlite3_create_module(database, name, &module, feed) != SQLITE_OK ||
                   sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &feed->statement, NULL) != SQLITE_OK
               ? -1
               : 0;
}

int feed_insert(struct feed *feed, const int64_t *values, size_t n_values)
{
    if (n_values == 0)
        return 0;
    feed->values = values;
    feed->n_values = n_values;
    int result = sqlite3_step(feed->statement);
    sqlite3_reset(feed->statement);
    return result == SQLITE_DONE ? 0 : -1;
}

void feed_end(struct feed *feed)
{
    sqlite3_finalize(feed->statement);
    feed->statement = NULL;
}

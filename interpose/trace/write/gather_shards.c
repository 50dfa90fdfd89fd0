/* The new file gets the schema as from ingest, then table by table all rows in their order; those of the shards come
 * through the virtual tables. What the shards should have is counted, so that none is short of rows. */
#include "interpose/trace/write/gather_shards.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "interpose/database/cursor.h"
#include "interpose/database/database.h"
#include "interpose/database/shards.h"
#include "interpose/database/new_database.h"
#include "interpose/trace/write/write_shards.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"

/* Both are schemas of one connection: main is the new file, source the trace. */
struct gathering {
    sqlite3 *database;
    const char *output;
    const struct shards *shards;
    struct error *error;
};

static int gather_sql(const struct gathering *gathering, const char *sql)
{
    return sqlite3_exec(gathering->database, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : database_error(gathering->database, gathering->output, "not written", gathering->error);
}

/* Returns the number of the table among those of shards, -1: it is none of them. */
static int divided_number(const char *table)
{
    for (int i = 0; i < SHARD_TABLES; i++)
        if (strcmp(shard_tables[i].name, table) == 0)
            return i;
    return -1;
}

/* Copies a table, which is made first where the schema has none of that name, as of kept findings. */
static int copy_table(const struct gathering *gathering, const char *name, const char *sql, bool is_there)
{
    int number = divided_number(name), result = is_there ? 0 : gather_sql(gathering, sql);
    char *insert = number != SHARD_CALLS
                       ? xasprintf("INSERT INTO main.\"%s\" SELECT * FROM source.\"%s\"", name, name)
                       : xasprintf("INSERT INTO main.call_row(rowid, rank, function, begin_ns, call_ns, completed, "
                                   "idle_calls, callsite) SELECT rowid, * FROM source.call_row");
    if (result == 0)
        result = gather_sql(gathering, insert);
    free(insert);
    int64_t rows = 0, copied = sqlite3_changes64(gathering->database);
    for (size_t i = 0; number >= 0 && i < gathering->shards->n; i++)
        rows += gathering->shards->shards[i].rows[number];
    if (result == 0 && number >= 0 && gathering->shards->n > 0 && rows != copied)
        result = error_set(gathering->error, "%s: the shards have %lld rows of %s, expected %lld: ingest the run again",
                           gathering->output, (long long)copied, name, (long long)rows);
    return result;
}

static int copy_tables(const struct gathering *gathering)
{
    struct cursor rows;
    int result = 0;
    cursor_open(
        &rows, gathering->database, gathering->output,
        "SELECT name, sql, name IN (SELECT name FROM main.sqlite_master) FROM source.sqlite_master WHERE type = "
        "'table' AND name NOT GLOB 'sqlite_*' AND name NOT IN ('shard', 'form_sum') ORDER BY rowid",
        gathering->error);
    while (result == 0 && cursor_next(&rows))
        result = copy_table(gathering, (const char *)sqlite3_column_text(rows.statement, 0),
                            (const char *)sqlite3_column_text(rows.statement, 1), cursor_integer(&rows, 2) != 0);
    return cursor_close(&rows) | result;
}

/* Fills the new file. */
static int gather_rows(struct gathering *gathering, const char *trace, const char *schema)
{
    struct shards shards = {0};
    gathering->shards = &shards;
    char *attach = sqlite3_mprintf("ATTACH %Q AS source", trace);
    int result = gather_sql(gathering, attach);
    sqlite3_free(attach);
    if (result == 0)
        result = shards_read(&shards, gathering->database, "source", gathering->error);
    if (result == 0)
        result = gather_sql(gathering, NEW_DATABASE_PRAGMAS "BEGIN");
    if (result == 0)
        result = gather_sql(gathering, schema);
    if (result == 0)
        result = copy_tables(gathering);
    if (result == 0)
        result = gather_sql(gathering, "COMMIT");
    shards_release(&shards);
    return result;
}

int shards_gather(const char *trace, const char *output, size_t *n_shards, struct error *error)
{
    struct output_file file;
    struct shards shards = {0};
    struct old_shards old = {0};
    struct stat status;
    sqlite3 *database = NULL;
    char *schema = NULL;
    /* First what is wrong with the trace, in words. */
    int result = database_open(trace, false, &database, error);
    if (result == 0)
        result = shards_read(&shards, database, "main", error);
    sqlite3_close(database);
    *n_shards = shards.n;
    shards_release(&shards);
    if (result != 0 || (schema = new_database_schema(error)) == NULL)
        return -1;
    result = output_file_open(&file, output, error);
    if (result == 0 && file.temporary == NULL) {
        output_file_discard(&file);
        result = error_set(error, "%s: not a regular file; give -o the name of a file", output);
    }
    if (result == 0) {
        if (stat(output, &status) == 0 || stat(trace, &status) == 0)
            (void)chmod(file.temporary, status.st_mode & 07777);
        old_shards_find(&old, output);
        database = NULL;
        struct gathering gathering = {.output = output, .error = error};
        if (database_connect(file.temporary, SQLITE_OPEN_READWRITE, &database) == SQLITE_OK) {
            gathering.database = database;
            result = gather_rows(&gathering, trace, schema);
        } else {
            result = database_error(database, output, "cannot be written", error);
        }
        if (sqlite3_close(database) != SQLITE_OK && result == 0)
            result = database_error(database, output, "cannot be closed", error);
        sigset_t held;
        output_file_hold_signals(&held);
        result = output_file_end(&file, result, error);
        if (result == 0)
            old_shards_remove(&old);
        output_file_let_signals(&held);
    }
    old_shards_release(&old);
    free(schema);
    return result;
}

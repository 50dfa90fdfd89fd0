/* Names of shards have the ingest's key, so that a trace and its shards are replaced as one: those of the new trace
 * stand beside the old ones until trace.db is renamed. A trace that was renamed finds its shards under their own names,
 * or under its new one. */
#include "interpose/database/shards.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/database/file_fault.h"
#include "share/base/array.h"
#include "share/base/memory.h"

const struct shard_table shard_tables[SHARD_TABLES] = {
    [SHARD_MESSAGES] = {"message_row", "dst", {"rowid"}},
    [SHARD_CALLS] = {"call_row", "rank", {"rowid"}},
    [SHARD_MEMBERS] = {"round_process", "rank", {"round_id", "rank"}},
};

#define TABLE_NAMES "('message_row', 'call_row', 'round_process')"

/* Returns where a shard lies: beside the trace under its own name, or under the name that the trace has now. */
static char *path_of_shard(const char *trace, const char *file)
{
    const char *slash = strrchr(trace, '/'), *suffix = strstr(file, SHARD_SUFFIX);
    int folder = slash == NULL ? 0 : (int)(slash + 1 - trace);
    char *path = xasprintf("%.*s%s", folder, trace, file);
    char *renamed = suffix == NULL ? NULL : xasprintf("%s%s", trace, suffix);
    if (renamed != NULL && access(path, F_OK) != 0 && access(renamed, F_OK) == 0) {
        free(path);
        return renamed;
    }
    free(renamed);
    return path;
}

static char *copy_of_column(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return xstrdup(text != NULL ? text : "");
}

int shards_read(struct shards *shards, sqlite3 *database, const char *schema, struct error *error)
{
    const char *trace = sqlite3_db_filename(database, schema);
    sqlite3_stmt *statement = NULL;
    *shards = (struct shards){0};
    if (trace == NULL ||
        sqlite3_table_column_metadata(database, schema, "shard", "key", NULL, NULL, NULL, NULL, NULL) != SQLITE_OK)
        return 0;
    char *sql = xasprintf("SELECT number, file, first_rank, last_rank, messages, calls, members, key FROM %s.shard "
                          "ORDER BY first_rank",
                          schema);
    int step = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    while (step == SQLITE_OK || step == SQLITE_ROW) {
        step = sqlite3_step(statement);
        if (step != SQLITE_ROW || shards->n == SHARDS_MOST)
            break;
        char *file = copy_of_column(statement, 1);
        struct shard shard = {.number = sqlite3_column_int64(statement, 0),
                              .first_rank = sqlite3_column_int64(statement, 2),
                              .last_rank = sqlite3_column_int64(statement, 3),
                              .path = path_of_shard(trace, file),
                              .key = copy_of_column(statement, 7)};
        for (int i = 0; i < SHARD_TABLES; i++)
            shard.rows[i] = sqlite3_column_int64(statement, 4 + i);
        ARRAY_ADD(shards->shards, shards->n, shard);
        free(file);
    }
    int result = step == SQLITE_ROW ? error_set(error, "%s: table shard: expected at most %d rows", trace, SHARDS_MOST)
                 : step == SQLITE_DONE ? 0
                                       : error_set(error, "%s: table shard: %s", trace, sqlite3_errmsg(database));
    sqlite3_finalize(statement);
    free(sql);
    if (result != 0)
        shards_release(shards);
    return result;
}

void shards_keep(struct shards *shards, int64_t number)
{
    size_t n = 0;
    for (size_t i = 0; i < shards->n; i++)
        if (shards->shards[i].number == number)
            shards->shards[n++] = shards->shards[i];
        else
            FREE_ALL(shards->shards[i].path, shards->shards[i].key);
    shards->n = n;
}

void shards_release(struct shards *shards)
{
    for (size_t i = 0; i < shards->n; i++)
        FREE_ALL(shards->shards[i].path, shards->shards[i].key);
    free(shards->shards);
    *shards = (struct shards){0};
}

bool shards_have_sums(sqlite3 *database)
{
    sqlite3_stmt *statement = NULL;
    bool result = sqlite3_prepare_v2(database, "SELECT 1 FROM shard LIMIT 1", -1, &statement, NULL) == SQLITE_OK &&
                  sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    return result;
}

void shard_has_text(const struct shard *shard, char text[SHARD_TEXT_BYTES])
{
    if (shard->first_rank == shard->last_rank)
        snprintf(text, SHARD_TEXT_BYTES, "messages to rank %lld, its calls and rounds", (long long)shard->first_rank);
    else
        snprintf(text, SHARD_TEXT_BYTES, "messages to ranks %lld-%lld, their calls and rounds",
                 (long long)shard->first_rank, (long long)shard->last_rank);
}

int shard_error(const struct shard *shard, const char *fault, struct error *error)
{
    char has[SHARD_TEXT_BYTES];
    shard_has_text(shard, has);
    return error_set(error, "%s: %s; it has %s: copy it beside the trace again, or ingest the run again", shard->path,
                     fault, has);
}

/* True if the table in the shard that says whose it is names this one. */
static bool is_ours(sqlite3 *database, const struct shard *shard, bool *is_shard)
{
    sqlite3_stmt *statement = NULL;
    *is_shard = sqlite3_prepare_v2(database, "SELECT key, number FROM shard_of", -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_ROW;
    const char *key = *is_shard ? (const char *)sqlite3_column_text(statement, 0) : NULL;
    bool result = key != NULL && strcmp(key, shard->key) == 0 && sqlite3_column_int64(statement, 1) == shard->number;
    sqlite3_finalize(statement);
    return result;
}

sqlite3 *shard_open(const struct shard *shard, char fault[SHARD_TEXT_BYTES])
{
    char text[FILE_FAULT_BYTES];
    sqlite3 *database = NULL;
    bool is_shard = false;
    if (access(shard->path, F_OK) != 0 && errno == ENOENT) {
        snprintf(fault, SHARD_TEXT_BYTES, "is missing");
        return NULL;
    }
    if (file_fault(shard->path, text) != FILE_SOUND) {
        snprintf(fault, SHARD_TEXT_BYTES, "%s", text);
        return NULL;
    }
    /* A shard does not change, so that its lock is kept. */
    if (sqlite3_open_v2(shard->path, &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK &&
        sqlite3_exec(database, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK &&
        is_ours(database, shard, &is_shard))
        return database;
    int code = sqlite3_errcode(database);
    if (is_shard)
        snprintf(fault, SHARD_TEXT_BYTES, "is of another trace");
    else if (code == SQLITE_ERROR || code == SQLITE_DONE || code == SQLITE_NOTADB)
        snprintf(fault, SHARD_TEXT_BYTES, "is no shard of a trace");
    else
        snprintf(fault, SHARD_TEXT_BYTES, "cannot be read: %s", sqlite3_errmsg(database));
    sqlite3_close(database);
    return NULL;
}

/* Returns a text that sql reads, for free(); NULL: the database says why. */
static char *read_text(sqlite3 *database, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    char *text = NULL;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        text = copy_of_column(statement, 0);
    sqlite3_finalize(statement);
    return text;
}

/* The columns of a virtual table are those of the table, from its own SQL. */
static char *virtual_sql(sqlite3 *database)
{
    return read_text(
        database,
        "SELECT group_concat('DROP TABLE ' || name || '; CREATE VIRTUAL TABLE ' || name || ' USING " SHARDS_MODULE
        "' ||"
        " replace(substr(sql, instr(sql, '(')), ' WITHOUT ROWID', ''), ';')"
        " FROM sqlite_master WHERE type = 'table' AND name IN " TABLE_NAMES);
}

char *shards_split(sqlite3 *database)
{
    char *schema =
        read_text(database, "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_master WHERE sql IS NOT "
                            "NULL AND tbl_name IN " TABLE_NAMES " ORDER BY type DESC)");
    char *sql = virtual_sql(database);
    bool failed = schema == NULL || sql == NULL || sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK;
    free(sql);
    if (!failed)
        return schema;
    free(schema);
    return NULL;
}

int shard_finish(sqlite3 *shard, int64_t number, const char *key)
{
    char *sql = sqlite3_mprintf("CREATE TABLE shard_of(key TEXT NOT NULL, number INTEGER NOT NULL);"
                                "INSERT INTO shard_of VALUES (%Q, %lld)",
                                key, (long long)number);
    int result = sql == NULL ? SQLITE_NOMEM : sqlite3_exec(shard, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return result == SQLITE_OK ? 0 : -1;
}

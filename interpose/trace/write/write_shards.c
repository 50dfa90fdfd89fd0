/* A trace is replaced as one: new shards, whose names have the key of this ingest, get their names first, then trace.db
 * replaces the old one, then the old one's shards are removed. */
#include "interpose/trace/write/write_shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "interpose/database/database.h"
#include "interpose/database/row.h"
#include "interpose/database/new_database.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/side_by_side.h"

/* Operations of a shard, where the user does not say how many shards there are. */
static const uint64_t shard_operations = 50000000;

/* What SQLite may keep of all shards while they are written, and at least of each. */
static const size_t caches_kib = 65536, least_cache_kib = 1024;

/* Returns the number of operations that the rank recorded. */
static uint64_t operations_of(const struct trace_process *process)
{
    uint64_t n = 0;
    for (size_t i = 0; i < process->n_posts; i++)
        n += process->posts[i].posts;
    return n;
}

/* Divides the ranks: a shard ends with the rank that brings the sum so far to its share of all. */
static void divide(struct shard_files *files, const struct trace *trace, uint64_t operations)
{
    size_t n = files->rows.n, shard = 0, ranks = (size_t)trace->world_size;
    uint64_t sum = 0;
    files->rows.of_rank = xcalloc(ranks, sizeof *files->rows.of_rank);
    files->files[0].first_rank = 0;
    for (size_t rank = 0; rank < ranks; rank++) {
        bool is_share = n > 0 && (double)sum >= (double)operations * (double)(shard + 1) / (double)n;
        bool is_last_chance = ranks - rank == n - shard - 1;
        if (rank > 0 && shard + 1 < n &&
            ((is_share && files->files[shard].first_rank < (int64_t)rank) || is_last_chance))
            files->files[++shard].first_rank = (int64_t)rank;
        files->files[shard].last_rank = (int64_t)rank;
        files->rows.of_rank[rank] = (uint32_t)shard;
        sum += operations_of(&trace->processes[rank]) + 1;
    }
}

void old_shards_find(struct old_shards *old, const char *path)
{
    struct shards shards = {0};
    struct error ignored;
    sqlite3 *database = NULL;
    char *prefix = NULL, *own = realpath(path, NULL);
    if (own != NULL && database_connect(path, SQLITE_OPEN_READONLY, &database) == SQLITE_OK &&
        shards_read(&shards, database, "main", &ignored) == 0)
        prefix = xasprintf("%s" SHARD_SUFFIX, own);
    for (size_t i = 0; prefix != NULL && i < shards.n; i++)
        if (strncmp(shards.shards[i].path, prefix, strlen(prefix)) == 0 &&
            strchr(shards.shards[i].path + strlen(prefix), '/') == NULL)
            ARRAY_ADD(old->paths, old->n, xstrdup(shards.shards[i].path));
    sqlite3_close(database);
    shards_release(&shards);
    FREE_ALL(prefix, own);
}

void old_shards_remove(const struct old_shards *old)
{
    for (size_t i = 0; i < old->n; i++)
        unlink(old->paths[i]);
}

void old_shards_release(struct old_shards *old)
{
    for (size_t i = 0; i < old->n; i++)
        free(old->paths[i]);
    free(old->paths);
}

int shard_files_open(struct shard_files *files, const struct trace *trace, size_t n, const char *path,
                     const char *unfinished, mode_t mode, struct error *error)
{
    uint64_t operations = (uint64_t)trace->world_size;
    struct timespec now;
    *files = (struct shard_files){0};
    for (int32_t rank = 0; rank < trace->world_size; rank++)
        operations += operations_of(&trace->processes[rank]);
    if (n == 0)
        n = (size_t)(operations / shard_operations) + 1;
    n = n > SHARDS_MOST ? SHARDS_MOST : n;
    n = n > (size_t)trace->world_size ? (size_t)trace->world_size : n;
    if (n < 2)
        return 0;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t moment = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    snprintf(files->key, sizeof files->key, "%08lx",
             (unsigned long)((moment * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)getpid() << 32) >> 32));
    files->files = xcalloc(n, sizeof *files->files);
    files->rows.databases = xcalloc(n, sizeof(sqlite3 *));
    int result = 0;
    for (size_t i = 0; result == 0 && i < n; i++) {
        char *name = xasprintf("%s" SHARD_SUFFIX "%zu-%s", path, i + 1, files->key);
        result = output_file_open_in(&files->files[i].file, name, unfinished, error);
        free(name);
        if (result != 0)
            break;
        files->rows.n++;
        if (mode != 0)
            (void)chmod(files->files[i].file.temporary, mode);
        if (database_connect(files->files[i].file.temporary, SQLITE_OPEN_READWRITE, &files->rows.databases[i]) !=
            SQLITE_OK)
            result = database_error(files->rows.databases[i], files->files[i].file.path, "cannot be written", error);
    }
    if (result == 0)
        divide(files, trace, operations);
    return result;
}

int shard_files_begin(struct shard_files *files, sqlite3 *database)
{
    size_t n = files->rows.n;
    char *schema = n == 0 ? NULL : shards_split(database);
    if (n > 0 && schema == NULL)
        return -1;
    int result = 0;
    size_t kib = n == 0 || caches_kib / n < least_cache_kib ? least_cache_kib : caches_kib / n;
    char begin[64];
    snprintf(begin, sizeof begin, "PRAGMA cache_size=-%zu; BEGIN", kib);
    for (size_t i = 0; result == 0 && i < n; i++) {
        sqlite3 *shard = files->rows.databases[i];
        if (sqlite3_exec(shard, NEW_DATABASE_PRAGMAS, NULL, NULL, NULL) != SQLITE_OK ||
            sqlite3_exec(shard, begin, NULL, NULL, NULL) != SQLITE_OK ||
            sqlite3_exec(shard, schema, NULL, NULL, NULL) != SQLITE_OK)
            result = -1;
    }
    free(schema);
    return result;
}

static int finish_one(void *context, size_t number, struct error *error)
{
    struct shard_files *files = context;
    sqlite3 *shard = files->rows.databases[number];
    if (shard_finish(shard, (int64_t)number + 1, files->key) == 0 &&
        sqlite3_exec(shard, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return error_set(error, "%s", sqlite3_errmsg(shard));
}

/* Lists the shards in trace.db. */
static int list_shards(const struct shard_files *files, const struct sink *sink)
{
    struct row row = row_prepare(sink->database, "shard", 11);
    for (uint32_t i = 0; i < files->rows.n; i++) {
        const struct shard_file *file = &files->files[i];
        const struct sink_file *filled = &sink->files[i + 1];
        const char *slash = strrchr(file->file.path, '/');
        bool has_rows = filled->begin_ns <= filled->end_ns;
        row_insert(&row, "ktiiiiiioot", i, slash == NULL ? file->file.path : slash + 1, file->first_rank,
                   file->last_rank, filled->rows[SINK_MESSAGES], filled->rows[SINK_CALLS], filled->rows[SINK_MEMBERS],
                   filled->idle_calls, has_rows ? filled->begin_ns : INT64_MIN, has_rows ? filled->end_ns : INT64_MIN,
                   files->key);
    }
    return row_finish(&row);
}

int shard_files_finish(struct shard_files *files, const struct sink *sink, size_t jobs)
{
    struct error ignored;
    if (files->rows.n == 0)
        return 0;
    if (side_by_side(files->rows.n, jobs, finish_one, files, &ignored) != 0)
        return -1;
    return list_shards(files, sink) != 0 || sink_write_form_sums(sink) != 0 ? -1 : 0;
}

sqlite3 *shard_files_failed(const struct shard_files *files, sqlite3 *database)
{
    for (size_t i = 0; i < files->rows.n; i++) {
        int code = sqlite3_errcode(files->rows.databases[i]);
        if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE)
            return files->rows.databases[i];
    }
    return database;
}

static int close_database(struct shard_files *files, size_t i, struct error *error)
{
    sqlite3 *database = files->rows.databases[i];
    files->rows.databases[i] = NULL;
    return sqlite3_close(database) == SQLITE_OK
               ? 0
               : database_error(database, files->files[i].file.path, "cannot be closed", error);
}

int shard_files_commit(struct shard_files *files, struct error *error)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < files->rows.n; i++) {
        result = close_database(files, i, error);
        if (result != 0)
            break;
        files->files[i].name = xstrdup(files->files[i].file.path);
        output_file_remove_by_signal(files->files[i].name);
        result = output_file_commit(&files->files[i].file, error);
    }
    if (result != 0)
        shard_files_take_back(files);
    return result;
}

void shard_files_take_back(const struct shard_files *files)
{
    for (size_t i = 0; i < files->rows.n; i++)
        if (files->files[i].name != NULL) {
            unlink(files->files[i].name);
            output_file_keep(files->files[i].name);
        }
}

void shard_files_keep(const struct shard_files *files)
{
    for (size_t i = 0; i < files->rows.n; i++)
        output_file_keep(files->files[i].name);
}

void shard_files_release(struct shard_files *files)
{
    for (size_t i = 0; i < files->rows.n; i++) {
        sqlite3_close(files->rows.databases[i]);
        if (files->files[i].file.path != NULL)
            output_file_discard(&files->files[i].file);
        free(files->files[i].name);
    }
    FREE_ALL(files->files, files->rows.databases, files->rows.of_rank);
    *files = (struct shard_files){0};
}

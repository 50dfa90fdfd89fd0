/* Rows come by the million and tables of every kind follow at the end, but the user must see a whole trace or none. So
 * the database grows beside its name, without journal or indexes, and is renamed once everything is in it. */
#include "interpose/trace/write/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "interpose/database/database.h"
#include "interpose/trace/gather/bursts.h"
#include "interpose/trace/rows/sink.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"
#include "interpose/spool/readers.h"
#include "interpose/trace/stream/stream.h"
#include "interpose/database/new_database.h"
#include "interpose/trace/write/sums.h"
#include "interpose/trace/write/tables.h"
#include "interpose/trace/write/write_regions.h"
#include "interpose/trace/write/write_shards.h"

static int read_summary(sqlite3 *database, struct trace_summary *summary)
{
    sqlite3_stmt *statement = NULL;
    int result = -1;
    if (sqlite3_prepare_v2(database, "SELECT posted, matched / 2, unmatched, verdict FROM completeness", -1, &statement,
                           NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        summary->posted = sqlite3_column_int64(statement, 0);
        summary->messages = sqlite3_column_int64(statement, 1);
        summary->unmatched = sqlite3_column_int64(statement, 2);
        snprintf(summary->verdict, sizeof summary->verdict, "%s", (const char *)sqlite3_column_text(statement, 3));
        result = 0;
    }
    sqlite3_finalize(statement);
    return result;
}

/* Writes what is known once all operations were read. */
static int write_rest(struct trace *trace, sqlite3 *database, struct sink *sink, struct sums_ahead *ahead)
{
    number_joint_calls(trace);
    bool failed = sink_write_forms(sink) != 0 || write_run(trace, database) != 0 ||
                  write_switches(trace, database) != 0 || bursts_write(trace, database) != 0 ||
                  write_collectives(trace, database, sink) != 0 || write_accesses(trace, database, sink) != 0 ||
                  write_records(trace, database) != 0 || write_regions(trace, database) != 0 ||
                  write_joint_sums(trace, database) != 0 || write_totals(trace, database, ahead) != 0 ||
                  write_counters(trace, database) != 0 || write_kinds(trace, database) != 0;
    return failed ? -1 : 0;
}

/* True if each spool was as long to the end of the last reading as it was at first; if not, error says which was
 * not. */
static bool were_whole(const struct trace *trace, struct error *error)
{
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        const struct spool *spool = trace->processes[rank].spool;
        if (spool == NULL || !spool_is_cut(spool))
            continue;
        error_set(
            error,
            "%s: became shorter than %zu bytes while it was read: ingest the run again, once nothing writes there",
            spool->path, spool->size);
        return false;
    }
    return true;
}

/* Writes all rows. Returns 0, -1 with the reason, or STREAM_DATABASE. */
static int write_rows(struct trace *trace, sqlite3 *database, const char *schema, const struct trace_choice *choice,
                      struct shard_files *shards, struct trace_summary *summary, struct error *error)
{
    struct sink sink = {0};
    struct sums_ahead *ahead = NULL;
    int result = STREAM_DATABASE;
    if (sqlite3_exec(database, NEW_DATABASE_PRAGMAS "BEGIN", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(database, schema, NULL, NULL, NULL) != SQLITE_OK || shard_files_begin(shards, database) != 0)
        goto out;
    int started = sink_begin(&sink, database, choice->calls, &shards->rows);
    if (started < 0)
        goto out;
    if (started > 0) {
        result = error_set(error, "cannot start a thread to write the trace: %s", strerror(started));
        goto out;
    }
    ahead = sums_ahead_begin(trace, choice->jobs - 1);
    result = stream_run(trace, &sink, choice->jobs, error);
    if (!were_whole(trace, error))
        result = -1;
    if (result != 0)
        goto out;
    result = STREAM_DATABASE;
    if (write_rest(trace, database, &sink, ahead) != 0)
        goto out;
    if (!were_whole(trace, error)) {
        result = -1;
        goto out;
    }
    if (shard_files_finish(shards, &sink, choice->jobs) == 0 && read_summary(database, summary) == 0 &&
        sqlite3_exec(database, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
        result = 0;
out:
    sums_ahead_end(ahead);
    sink_release(&sink);
    return result;
}

int trace_write(struct trace *trace, const char *path, const struct trace_choice *choice, struct trace_summary *summary,
                struct error *error)
{
    char *schema = new_database_schema(error);
    if (schema == NULL)
        return -1;
    struct output_file file;
    struct shard_files shards = {0};
    struct old_shards old = {0};
    sqlite3 *database = NULL;
    int result = output_file_open_in(&file, path, choice->unfinished, error);
    if (result == 0 && file.temporary == NULL) {
        output_file_discard(&file);
        result = error_set(error, "%s: not a regular file; give -o the name of a file", path);
    }
    if (result != 0)
        goto out;
    /* A new trace gets the mode that MPISTAIR_READERS asks for; one that is replaced keeps its mode. */
    struct stat status;
    mode_t mode = stat(path, &status) == 0 ? status.st_mode & 07777 : readers_file_mode();
    (void)chmod(file.temporary, mode);
    old_shards_find(&old, path);
    result = shard_files_open(&shards, trace, choice->shards, path, choice->unfinished, mode, error);
    if (result != 0) {
        output_file_discard(&file);
        goto out;
    }
    /* The file is SQLite's from the first byte on: output_file holds the name, SQLite writes the contents. */
    result = STREAM_DATABASE;
    if (database_connect(file.temporary, SQLITE_OPEN_READWRITE, &database) == SQLITE_OK)
        result = write_rows(trace, database, schema, choice, &shards, summary, error);
    if (result == STREAM_DATABASE)
        result = database_error(shard_files_failed(&shards, database), path, "cannot be written", error);
    if (sqlite3_close(database) != SQLITE_OK && result == 0)
        result = database_error(database, path, "cannot be closed", error);
    if (result == 0)
        result = shard_files_commit(&shards, error);
    /* A signal that comes here takes all or nothing. */
    sigset_t held;
    output_file_hold_signals(&held);
    if (output_file_end(&file, result, error) == 0) {
        shard_files_keep(&shards);
        old_shards_remove(&old);
    } else if (result == 0) {
        shard_files_take_back(&shards);
        result = -1;
    }
    output_file_let_signals(&held);
out:
    old_shards_release(&old);
    shard_files_release(&shards);
    free(schema);
    return result;
}

/* Returns the whole number that sql reads, -1 if it reads none. */
static int64_t read_number(sqlite3 *database, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t value = -1;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW &&
        sqlite3_column_type(statement, 0) == SQLITE_INTEGER)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* Appends ", 3 predictions" to a text of so many bytes if there are any. */
static void append_count(char *text, size_t bytes, int64_t n, const char *what)
{
    size_t used = strlen(text);
    if (n > 0)
        snprintf(text + used, bytes - used, ", %" PRId64 " %s%s", n, what, n == 1 ? "" : "s");
}

/* The file may be anything, also a trace of an older version: every figure is asked for by itself, and what cannot be
 * read is left out. */
void replaced_note(const char *path, const char *when)
{
    struct stat status;
    sqlite3 *database = NULL;
    char holds[256] = "it is not a trace of mpistair";
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
        return;
    if (database_connect(path, SQLITE_OPEN_READONLY, &database) == SQLITE_OK) {
        time_t recorded = (time_t)(read_number(database, "SELECT started_unix_ns FROM run") / 1000000000);
        struct tm local;
        if (recorded > 0 && localtime_r(&recorded, &local) != NULL)
            strftime(holds, sizeof holds, "recorded %Y-%m-%d %H:%M", &local);
        append_count(holds, sizeof holds, read_number(database, "SELECT world_size FROM run"), "rank");
        append_count(holds, sizeof holds, read_number(database, "SELECT count(*) FROM prediction_run"), "prediction");
        append_count(holds, sizeof holds, read_number(database, "SELECT count(*) FROM replay_run"), "replay");
    }
    sqlite3_close(database);
    inform("note: %s %s: %s", path, when, holds);
}

#include "write.h"

#include <stdio.h>
#include <stdlib.h>

#include "database.h"
#include "form.h"
#include "installation.h"
#include "marks.h"
#include "output_file.h"
#include "partition.h"
#include "persistent.h"
#include "rma.h"
#include "stack.h"
#include "write_messages.h"
#include "write_run.h"

/* The whole schema; NULL with the reason. */
static char *read_schema(struct error *error)
{
    char path[4096];
    if (installation_find(INSTALLATION_SHARE, "sql/schema.sql", path, sizeof path, error) != 0)
        return NULL;
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t length = 0, room = 0;
    if (file != NULL && getdelim(&text, &room, '\0', file) > 0)
        length = 1;
    if (file != NULL)
        fclose(file);
    if (length > 0)
        return text;
    free(text);
    error_set(error, "%s: the schema cannot be read", path);
    return NULL;
}

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

static int write_rows(const struct trace *trace, sqlite3 *database, const char *schema, bool calls,
                      struct trace_summary *summary)
{
    if (sqlite3_exec(database,
                     "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA "
                     "cache_size=-65536; BEGIN",
                     NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(database, schema, NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    if (functions_write(database) != 0 || write_run(trace, database) != 0 ||
        write_operations(trace, database, calls) != 0 || (calls && write_calls(trace, database) != 0) ||
        write_collectives(trace, database) != 0 || persistents_write(trace, database) != 0 ||
        partitions_write(trace, database) != 0 || rma_write(trace, database, calls) != 0 ||
        stacks_write(trace, database) != 0 || marks_write(trace, database) != 0 || write_rounds(trace, database) != 0 ||
        read_summary(database, summary) != 0)
        return -1;
    return sqlite3_exec(database, "COMMIT", NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

int trace_write(const struct trace *trace, const char *path, bool calls, struct trace_summary *summary,
                struct error *error)
{
    char *schema = read_schema(error);
    if (schema == NULL)
        return -1;
    struct output_file file;
    sqlite3 *database = NULL;
    int result = output_file_open(&file, path, error);
    if (result == 0 && file.temporary == NULL) {
        output_file_discard(&file);
        result = error_set(error, "%s: is no file; a trace needs one", path);
    }
    if (result != 0)
        goto out;
    /* The schema is SQLite's from the first byte on: output_file holds the name, SQLite writes the contents. */
    if (sqlite3_open_v2(file.temporary, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK ||
        write_rows(trace, database, schema, calls, summary) != 0)
        result = database_error(database, path, "cannot be written", error);
    if (sqlite3_close(database) != SQLITE_OK && result == 0)
        result = error_set(error, "%s: cannot be closed", path);
    if (result == 0)
        result = output_file_commit(&file, error);
    else
        output_file_discard(&file);
out:
    free(schema);
    return result;
}

/* The schema lies beside the named queries as a file, so that users can read it. */
#include "interpose/database/new_database.h"

#include <stdbool.h>
#include <stdlib.h>

#include "share/base/installation.h"
#include "share/base/memory.h"
#include "share/base/text_file.h"

enum { SCHEMA_MAX_BYTES = 1 << 20 };

char *new_database_schema(struct error *error)
{
    char path[4096];
    if (installation_find(INSTALLATION_SHARE, "sql/schema.sql", path, sizeof path, error) != 0)
        return NULL;
    return text_file_read(path, SCHEMA_MAX_BYTES, error);
}

char *new_database_drop_indexes(sqlite3 *database)
{
    sqlite3_stmt *statement = NULL;
    char *make = NULL, *drop = NULL;
    bool done = sqlite3_prepare_v2(database,
                                   "SELECT coalesce(group_concat(sql, ';'), ''), "
                                   "coalesce(group_concat('DROP INDEX ' || name, ';'), '') "
                                   "FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL",
                                   -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_ROW;
    if (done) {
        make = xstrdup((const char *)sqlite3_column_text(statement, 0));
        drop = xstrdup((const char *)sqlite3_column_text(statement, 1));
    }
    sqlite3_finalize(statement); /* no index can be dropped while it is read */
    if (done && sqlite3_exec(database, drop, NULL, NULL, NULL) != SQLITE_OK) {
        free(make);
        make = NULL;
    }
    free(drop);
    return make;
}

/* The schema is read from where mpistair is installed, so that it stands once. See later_tables.h. */
#include "interpose/database/later_tables.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/database/database.h"
#include "share/base/installation.h"
#include "share/base/text_file.h"

enum { SCHEMA_MAX_BYTES = 1 << 20 };

int later_tables_make(sqlite3 *database, const char *path, struct error *error)
{
    static const char line[] = "Dividing line: replays.\n";
    char name[4096];
    if (installation_find(INSTALLATION_SHARE, "sql/schema.sql", name, sizeof name, error) != 0)
        return -1;
    char *schema = text_file_read(name, SCHEMA_MAX_BYTES, error);
    if (schema == NULL)
        return -1;
    const char *at = strstr(schema, line);
    int code = 0;
    if (at == NULL)
        code = error_set(error, "%s: has no tables of replays: is it that of another mpistair?", name);
    else if (sqlite3_exec(database, at + strlen(line), NULL, NULL, NULL) != SQLITE_OK)
        code = database_error(database, path, "the replay cannot be stored", error);
    free(schema);
    return code;
}

/* The schema lies beside the named queries as a file, so that users can read it. */
#include "interpose/database/new_database.h"

#include "share/base/installation.h"
#include "share/base/text_file.h"

enum { SCHEMA_MAX_BYTES = 1 << 20 };

char *new_database_schema(struct error *error)
{
    char path[4096];
    if (installation_find(INSTALLATION_SHARE, "sql/schema.sql", path, sizeof path, error) != 0)
        return NULL;
    return text_file_read(path, SCHEMA_MAX_BYTES, error);
}

/* Queries that many users need lie as files beside the schema, where they can be read, copied and changed; this file
 * only finds them. */
#include "report/command/named_query.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/help_text.h"
#include "share/base/installation.h"
#include "share/base/nearest.h"
#include "share/base/terminal.h"
#include "share/base/text_file.h"

enum { QUERY_MAX_BYTES = 1 << 20 };

bool named_query_is_name(const char *text)
{
    return text[0] != '\0' &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] == '\0';
}

static int no_query(const char *name, struct error *error)
{
    struct nearest nearest = nearest_to(name);
    installation_each("sql", ".sql", nearest_add_named, &nearest, NULL);
    const char *hint = nearest_hint(&nearest);
    return error_set(error, "%s: no such query%s%s", name, hint,
                     hint[0] != '\0' ? " 'mpistair query --list' shows the names"
                                     : "; 'mpistair query --list' shows the names, SQL is written as one argument with "
                                       "blanks");
}

int named_query_read(const char *name, char **sql, struct error *error)
{
    char path[PATH_MAX];
    if (strcmp(name, "schema") == 0 || installation_named("sql", ".sql", name, path, sizeof path) != 0)
        return no_query(name, error);
    *sql = text_file_read(path, QUERY_MAX_BYTES, error);
    return *sql == NULL ? -1 : 0;
}

/* Writes a query's name and what its first line says. */
static int list_query(void *context, const char *name, const char *path, struct error *error)
{
    if (strcmp(name, "schema") == 0) /* lies beside the queries and is none */
        return 0;
    char *sql = text_file_read(path, QUERY_MAX_BYTES, error);
    if (sql == NULL)
        return -1;
    const char *description = strncmp(sql, "-- ", 3) == 0 ? sql + 3 : "";
    char line[512];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(description, "\n"), description);
    int at = fprintf(context, "%-16s ", name);
    help_text_fill(context, line, (unsigned)at, (unsigned)at, terminal_page(context));
    free(sql);
    return 0;
}

int named_query_list(FILE *stream, struct error *error)
{
    return installation_each("sql", ".sql", list_query, stream, error);
}

/* Queries that many users need lie as files beside the schema, where they can be read, copied and changed; this file
 * only finds them. */
#include "report/named_query.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/installation.h"
#include "share/base/text_file.h"

enum { QUERY_MAX_BYTES = 1 << 20 };

bool named_query_is_name(const char *text)
{
    return text[0] != '\0' &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] == '\0';
}

/* Accepts all but schema.sql, which lies beside the queries and is none. */
static int is_query(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 4, ".sql") == 0 &&
           strcmp(entry->d_name, "schema.sql") != 0;
}

static int query_folder(char *folder, size_t size, struct error *error)
{
    if (installation_find(INSTALLATION_SHARE, "sql/schema.sql", folder, size, error) != 0)
        return -1;
    *strrchr(folder, '/') = '\0';
    return 0;
}

int named_query_read(const char *name, char **sql, struct error *error)
{
    char folder[PATH_MAX], path[2 * PATH_MAX];
    if (query_folder(folder, sizeof folder, error) != 0)
        return -1;
    snprintf(path, sizeof path, "%s/%s.sql", folder, name);
    if (strcmp(name, "schema") == 0 || access(path, R_OK) != 0)
        return error_set(error,
                         "%s: no such query; 'mpistair query --list' shows the names, SQL is written as one "
                         "argument with blanks",
                         name);
    *sql = text_file_read(path, QUERY_MAX_BYTES, error);
    return *sql == NULL ? -1 : 0;
}

int named_query_list(FILE *stream, struct error *error)
{
    char folder[PATH_MAX];
    struct dirent **entries = NULL;
    if (query_folder(folder, sizeof folder, error) != 0)
        return -1;
    int n = scandir(folder, &entries, is_query, alphasort);
    if (n < 0)
        return error_set(error, "%s: cannot be read: %s", folder, strerror(errno));
    int result = 0;
    for (int i = 0; i < n; i++) {
        entries[i]->d_name[strlen(entries[i]->d_name) - 4] = '\0';
        char *sql = NULL;
        if (result == 0)
            result = named_query_read(entries[i]->d_name, &sql, error);
        if (result == 0) {
            const char *description = strncmp(sql, "-- ", 3) == 0 ? sql + 3 : "";
            fprintf(stream, "%-16s %.*s\n", entries[i]->d_name, (int)strcspn(description, "\n"), description);
        }
        free(sql);
        free(entries[i]);
    }
    free(entries);
    return result;
}

/* LD_PRELOAD is a list whose entries the loader expands (ld.so(8), dynamic string tokens): an installation may lie in a
 * folder whose name it cannot carry, and the loader then says on standard error of every process that it ignores it. */
#include "interpose/run/preload_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/installation.h"

/* Returns the token that the loader would replace in a path, NULL if there is none. */
static const char *token_in(const char *path)
{
    static const char *const tokens[] = {"$ORIGIN",   "$LIB",   "$PLATFORM", /* with braces, too */
                                         "${ORIGIN}", "${LIB}", "${PLATFORM}"};
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++)
        for (const char *at = path; (at = strstr(at, tokens[i])) != NULL; at++) {
            const char *behind = at + strlen(tokens[i]);
            if (tokens[i][1] == '{' || *behind == '\0' || *behind == '/')
                return tokens[i];
        }
    return NULL;
}

int preload_path_find(char path[PATH_MAX], struct error *error)
{
    char found[PATH_MAX];
    if (installation_find(INSTALLATION_PRELOAD, NULL, found, sizeof found, error) != 0)
        return -1;
    if (realpath(found, path) == NULL)
        return error_set(error, "%s: %s", found, strerror(errno));
    if (strpbrk(path, " :") != NULL)
        return error_set(error, "%s: LD_PRELOAD cannot carry a name with blanks or colons; install mpistair elsewhere",
                         path);
    const char *token = token_in(path);
    if (token != NULL)
        return error_set(error, "%s: the loader replaces %s in a name in LD_PRELOAD; install mpistair elsewhere", path,
                         token);
    return 0;
}

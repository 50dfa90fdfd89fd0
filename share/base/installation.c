/* The same program must work from a build folder, from an installed tree and from a moved tree. So the only absolute
 * path compiled in is that of the source tree, which only a build folder uses. */
#include "share/base/installation.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/settings.h"
#include "share/base/one_of.h"

/* Lists folders relative to that of the program: [0] in a build folder (tests lie deeper, their environment says
 * where), [1] installed. MPISTAIR_TO_LIB and MPISTAIR_TO_SHARE lead from bindir. MPISTAIR_SOURCE_SHARE is the source
 * tree's share folder, used in a build folder only. */
static const char *const preload_folder[] = {"interpose/preload", MPISTAIR_TO_LIB};
static const char *const program_folder[] = {"calibrate", MPISTAIR_TO_LIB "/mpistair"};
static const char *const collector_folder[] = {"interpose/collect", MPISTAIR_TO_LIB "/mpistair"};

static int find(const char *folder, const char *name, char *path, size_t size)
{
    int length = snprintf(path, size, "%s/%s", folder, name);
    return length > 0 && (size_t)length < size && access(path, R_OK) == 0 ? 0 : -1;
}

int installation_find(enum installation_part part, const char *name, char *path, size_t size, struct error *error)
{
    const char *given = setting(part == INSTALLATION_SHARE ? "MPISTAIR_SHARE" : "MPISTAIR_LIB");
    if (part == INSTALLATION_PRELOAD)
        name = "libmpistair.so";
    if (given != NULL && given[0] != '\0') {
        if (find(given, name, path, size) == 0)
            return 0;
        return error_set(error, "%s: not found in %s, where %s points", name, given,
                         part == INSTALLATION_SHARE ? "MPISTAIR_SHARE" : "MPISTAIR_LIB");
    }
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length <= 0)
        return error_set(error, "/proc/self/exe: cannot be read: %s", strerror(errno));
    own[length] = '\0';
    *strrchr(own, '/') = '\0';
    for (int installed = 0; installed < 2; installed++) {
        char folder[PATH_MAX + 256];
        if (part == INSTALLATION_SHARE && !installed) {
            char built[PATH_MAX];
            if (find(own, "interpose/preload/libmpistair.so", built, sizeof built) != 0)
                continue;
            snprintf(folder, sizeof folder, "%s/share", own); /* what the build has made, then what it was made from */
            if (find(folder, name, path, size) == 0)
                return 0;
            snprintf(folder, sizeof folder, "%s", MPISTAIR_SOURCE_SHARE);
        } else {
            const char *relative = part == INSTALLATION_PRELOAD     ? preload_folder[installed]
                                   : part == INSTALLATION_PROGRAM   ? program_folder[installed]
                                   : part == INSTALLATION_COLLECTOR ? collector_folder[installed]
                                                                    : MPISTAIR_TO_SHARE;
            snprintf(folder, sizeof folder, "%s/%s", own, relative);
        }
        if (find(folder, name, path, size) == 0)
            return 0;
    }
    return error_set(error, "%s: not found beside %s nor in the installed folders; set %s", name, own,
                     part == INSTALLATION_SHARE ? "MPISTAIR_SHARE" : "MPISTAIR_LIB");
}

int installation_named(const char *folder, const char *suffix, const char *name_or_path, char *path, size_t size)
{
    char name[256];
    if (strchr(name_or_path, '/') != NULL || ends_with(name_or_path, suffix) > 0)
        return (size_t)snprintf(path, size, "%s", name_or_path) < size ? 0 : -1;
    if ((size_t)snprintf(name, sizeof name, "%s/%s%s", folder, name_or_path, suffix) >= sizeof name)
        return -1;
    return installation_find(INSTALLATION_SHARE, name, path, size, NULL);
}

int installation_each(const char *folder, const char *suffix,
                      int (*each)(void *context, const char *name, const char *path, struct error *error),
                      void *context, struct error *error)
{
    char found[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
    struct dirent **entries = NULL;
    if (installation_find(INSTALLATION_SHARE, folder, found, sizeof found, error) != 0)
        return -1;
    int n = scandir(found, &entries, NULL, alphasort), result = 0;
    if (n < 0)
        return error_set(error, "%s: cannot be read: %s", found, strerror(errno));
    for (int i = 0; i < n; i++) {
        char *name = entries[i]->d_name;
        size_t length = name[0] != '.' ? ends_with(name, suffix) : 0;
        snprintf(path, sizeof path, "%s/%s", found, name);
        name[length] = '\0';
        if (result == 0 && length > 0)
            result = each(context, name, path, error);
        free(entries[i]);
    }
    free(entries);
    return result;
}

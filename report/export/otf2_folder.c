/* Only an archive that mpistair wrote is ever removed: a folder whose anchor file says so, and that holds nothing but
 * files with the names of an archive. */
#include "report/export/otf2_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/memory.h"

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), of_end = strlen(end);
    return length > of_end && strcmp(name + length - of_end, end) == 0;
}

/* Returns whether an archive has a file of this name, in its folder or (inside) in traces/. */
static bool is_of_archive(const char *name, bool inside)
{
    if (!inside)
        return strcmp(name, "traces.otf2") == 0 || strcmp(name, "traces.def") == 0 || strcmp(name, "traces") == 0;
    return strspn(name, "0123456789") > 0 && (ends_with(name, ".evt") || ends_with(name, ".def"));
}

/* Calls take with the path of each entry until it returns non-zero; returns that, or -1 where the folder cannot be
 * read. */
static int each_entry(const char *folder, int (*take)(const char *path, const char *name, bool inside), bool inside)
{
    DIR *directory = opendir(folder);
    int result = directory == NULL ? -1 : 0;
    const struct dirent *entry;
    while (result == 0 && (entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *path = xasprintf("%s/%s", folder, entry->d_name);
        result = take(path, entry->d_name, inside);
        free(path);
    }
    if (directory != NULL)
        closedir(directory);
    return result;
}

static int check_entry(const char *path, const char *name, bool inside)
{
    struct stat status;
    if (!is_of_archive(name, inside) || lstat(path, &status) != 0)
        return -1;
    if (!inside && strcmp(name, "traces") == 0)
        return S_ISDIR(status.st_mode) ? each_entry(path, check_entry, true) : -1;
    return S_ISREG(status.st_mode) ? 0 : -1;
}

static int remove_entry(const char *path, const char *name, bool inside)
{
    if (!is_of_archive(name, inside))
        return -1;
    if (!inside && strcmp(name, "traces") == 0)
        return each_entry(path, remove_entry, true) != 0 ? -1 : rmdir(path);
    return unlink(path);
}

static int any_entry(const char *path, const char *name, bool inside)
{
    (void)path;
    (void)name;
    (void)inside;
    return 1;
}

static bool is_ours(const char *folder)
{
    static const char creator[] = OTF2_FOLDER_CREATOR;
    char head[4096];
    if (each_entry(folder, check_entry, false) != 0)
        return false;
    char *path = xasprintf("%s/traces.otf2", folder);
    FILE *anchor = fopen(path, "r");
    free(path);
    if (anchor == NULL)
        return each_entry(folder, any_entry, false) == 0;
    size_t n = fread(head, 1, sizeof head, anchor);
    fclose(anchor);
    return memmem(head, n, creator, strlen(creator)) != NULL;
}

static void release(struct otf2_folder *folder)
{
    free(folder->path);
    free(folder->temporary);
    *folder = (struct otf2_folder){0};
}

int otf2_folder_make(struct otf2_folder *folder, const char *path, struct error *error)
{
    struct stat status;
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    folder->path = xstrndup(path, length);
    folder->temporary = xasprintf("%s.XXXXXX", folder->path);
    int result = 0;
    if (lstat(folder->path, &status) == 0 && (!S_ISDIR(status.st_mode) || !is_ours(folder->path)))
        result = error_set(error, "%s: exists and is not an archive of mpistair: expected the name of a new folder",
                           folder->path);
    else if (mkdtemp(folder->temporary) == NULL)
        result = error_set(error, "%s: cannot be written: %s", path, strerror(errno));
    if (result != 0)
        release(folder);
    return result;
}

static void remove_archive(const char *folder)
{
    if (each_entry(folder, remove_entry, false) == 0)
        rmdir(folder);
}

int otf2_folder_commit(struct otf2_folder *folder, struct error *error)
{
    mode_t mask = umask(0);
    umask(mask);
    (void)chmod(folder->temporary, 0777 & ~mask); /* mkdtemp made it for its owner alone */
    int code = rename(folder->temporary, folder->path);
    if (code != 0 && (errno == ENOTEMPTY || errno == EEXIST)) {
        code = renameat2(AT_FDCWD, folder->temporary, AT_FDCWD, folder->path, RENAME_EXCHANGE);
        if (code == 0)
            remove_archive(folder->temporary); /* the former one */
    }
    if (code != 0) {
        error_set(error, "%s: cannot be replaced: %s", folder->path, strerror(errno));
        remove_archive(folder->temporary);
    }
    release(folder);
    return code == 0 ? 0 : -1;
}

void otf2_folder_discard(struct otf2_folder *folder)
{
    remove_archive(folder->temporary);
    release(folder);
}

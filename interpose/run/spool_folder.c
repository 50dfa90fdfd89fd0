/* Spools are written through shared mappings at the pace of the job's messages: on a network file system that would
 * disturb what is measured. So they lie beside the output where that is local, else in TMPDIR of each node, from where
 * the recorder brings them to OUTPUT.spool at the end.
 */
#include "spool_folder.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "event.h"

static const uint32_t network_magics[] = {
    0x6969,                             /* NFS */
    0x517b,     0xff534d42, 0xfe534d42, /* SMB, CIFS, SMB2 */
    0x0bd00bd0,                         /* Lustre */
    0x47504653,                         /* GPFS */
    0x19830326,                         /* BeeGFS */
    0x00c36400,                         /* Ceph */
    0x65735546,                         /* FUSE, virtiofs */
    0x01021997,                         /* 9P */
    0x5346414f, 0x6b414653,             /* AFS */
    0x20030528,                         /* PVFS, OrangeFS */
    0xaad7aaea,                         /* PanFS */
    0x01161970, 0x7461636f,             /* GFS2, OCFS2 */
};

static bool is_network(const char *folder)
{
    struct statfs status;
    if (statfs(folder, &status) != 0)
        return false;
    for (size_t i = 0; i < sizeof network_magics / sizeof network_magics[0]; i++)
        if ((uint32_t)status.f_type == network_magics[i])
            return true;
    return false;
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), end = strlen(suffix);
    return length > end && strcmp(name + length - end, suffix) == 0;
}

/* Calls `each` for every entry but . and ..; returns how many there are, 0 where the folder cannot be read. */
static size_t walk(const char *path, bool (*each)(int folder, const char *name))
{
    DIR *stream = opendir(path);
    size_t n = 0;
    if (stream == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && each(dirfd(stream), entry->d_name))
            n++;
    closedir(stream);
    return n;
}

static bool is_any(int folder, const char *name)
{
    (void)folder, (void)name;
    return true;
}

static bool is_spool(int folder, const char *name)
{
    (void)folder;
    return ends_with(name, SPOOL_SUFFIX);
}

static bool remove_file(int folder, const char *name)
{
    return unlinkat(folder, name, 0) == 0;
}

size_t spool_folder_count(const char *path)
{
    return walk(path, is_spool);
}

/* Renames a folder that holds something to the first free PATH.1, PATH.2, ... 0, or -1 with the reason. */
static int move_aside(const char *path, struct error *error)
{
    if (walk(path, is_any) == 0)
        return 0;
    for (int number = 1; number < 1000; number++) {
        char aside[PATH_MAX + 16];
        snprintf(aside, sizeof aside, "%s.%d", path, number);
        if (access(aside, F_OK) == 0)
            continue;
        if (rename(path, aside) != 0)
            return error_set(error, "%s: holds an earlier run and cannot be renamed: %s", path, strerror(errno));
        fprintf(stderr, "mpistair: %s held an earlier run: it is now %s\n", path, aside);
        return 0;
    }
    return error_set(error, "%s: holds an earlier run, and so do %s.1 to .999; remove some", path, path);
}

static int make(struct spool_folder *folder, struct error *error)
{
    folder->is_made = mkdir(folder->path, 0755) == 0;
    if (!folder->is_made && errno != EEXIST)
        return error_set(error, "%s: cannot be made: %s", folder->path, strerror(errno));
    if (access(folder->path, W_OK | X_OK) != 0)
        return error_set(error, "%s: cannot be written to: %s", folder->path, strerror(errno));
    return 0;
}

static int make_given(struct spool_folder *folder, const char *given, struct error *error)
{
    char *absolute;
    snprintf(folder->path, sizeof folder->path, "%s", given);
    if (make(folder, error) != 0)
        return -1;
    if (!folder->is_made && walk(folder->path, is_any) != 0)
        return error_set(error, "--spool %s: expected a folder of its own for this run, and this one is not empty",
                         given);
    absolute = realpath(given, NULL);
    if (absolute == NULL)
        return error_set(error, "--spool %s: %s", given, strerror(errno));
    snprintf(folder->path, sizeof folder->path, "%s", absolute);
    free(absolute);
    return 0;
}

int spool_folder_make(struct spool_folder *folder, const char *output, const char *given, struct error *error)
{
    char parent[PATH_MAX];
    *folder = (struct spool_folder){0};
    if (snprintf(folder->collected, sizeof folder->collected, "%s.spool", output) >= (int)sizeof folder->collected)
        return error_set(error, "%s: the name is too long", output);
    if (move_aside(folder->collected, error) != 0)
        return -1;
    if (given != NULL)
        return make_given(folder, given, error);
    snprintf(parent, sizeof parent, "%s", output);
    if (!is_network(dirname(parent))) {
        memcpy(folder->path, folder->collected, sizeof folder->path);
        return make(folder, error);
    }
    const char *temporary = getenv("TMPDIR");
    int length = snprintf(folder->path, sizeof folder->path, "%s/mpistair-XXXXXX",
                          temporary != NULL && temporary[0] == '/' ? temporary : "/tmp");
    if (length >= (int)sizeof folder->path || mkdtemp(folder->path) == NULL)
        return error_set(error, "%s: cannot be made: %s; --spool names another place", folder->path, strerror(errno));
    folder->is_made = true;
    return 0;
}

void spool_folder_remove_empty(const struct spool_folder *folder)
{
    if (folder->is_made)
        rmdir(folder->path);
}

void spool_folder_remove(const struct spool_folder *folder)
{
    walk(folder->path, remove_file);
    spool_folder_remove_empty(folder);
    if (strcmp(folder->path, folder->collected) != 0) {
        walk(folder->collected, remove_file);
        rmdir(folder->collected);
    }
}

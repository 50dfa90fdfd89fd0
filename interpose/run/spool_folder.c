/* Spools are written through shared mappings at the pace of the job's messages: on a network file system that would
 * disturb what is measured. So they lie beside the output where that is local, else in TMPDIR of each node, from where
 * the recorder brings them to OUTPUT.spool at the end. Each run claims OUTPUT.spool, wherever its spools lie. */
#include "interpose/run/spool_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "interpose/collect/collected.h"
#include "interpose/spool/event.h"
#include "interpose/spool/readers.h"
#include "share/base/output_file.h"
#include "share/base/one_of.h"

/* The owner holds a lock on a file in the folder. The kernel takes the lock back when the process ends, however it
 * ends, so a folder without one belongs to a run that is over. The file may be removed, or its folder renamed, between
 * its opening and its locking: what counts is the file that has the name once it is locked. */

enum { MOST_TRIALS = 100, LOCK_PATH_BYTES = PATH_MAX + sizeof ".spool/" SPOOL_CLAIM_FILE };

#define CLAIM_NONE ((struct claim){.lock = -1})

enum claim_result {
    CLAIM_OURS = 0,
    CLAIM_TAKEN = 1,   /* a process that lives has it */
    CLAIM_FAILED = -1, /* errno says why */
};

static void lock_path(char path[LOCK_PATH_BYTES], const char *folder)
{
    snprintf(path, LOCK_PATH_BYTES, "%s/" SPOOL_CLAIM_FILE, folder);
}

static int open_lock(const char *folder, int flags)
{
    char path[LOCK_PATH_BYTES];
    lock_path(path, folder);
    return open(path, flags | O_RDWR | O_CLOEXEC, 0644);
}

/* True if the descriptor belongs to the file that has the name now. */
static bool has_name(int lock, const char *folder, struct stat *locked)
{
    char path[LOCK_PATH_BYTES];
    struct stat named;
    lock_path(path, folder);
    return fstat(lock, locked) == 0 && stat(path, &named) == 0 && named.st_ino == locked->st_ino &&
           named.st_dev == locked->st_dev;
}

/* True if another process holds the lock; a file system without locks counts as free. */
static bool is_locked_by_other(int lock)
{
    return flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/* Makes the folder if it is missing, and claims it. Unless it returns CLAIM_OURS, claim is as CLAIM_NONE. */
static enum claim_result claim_take(struct claim *claim, const char *folder)
{
    *claim = CLAIM_NONE;
    for (int trial = 0; trial < MOST_TRIALS; trial++) {
        struct stat locked;
        bool is_made = mkdir(folder, readers_folder_mode()) == 0;
        if (!is_made && errno != EEXIST)
            return CLAIM_FAILED;
        int lock = open_lock(folder, O_CREAT);
        if (lock < 0 && errno != ENOENT)
            return CLAIM_FAILED;
        if (lock >= 0 && is_locked_by_other(lock)) {
            close(lock);
            return CLAIM_TAKEN;
        }
        if (lock >= 0 && has_name(lock, folder, &locked)) {
            snprintf(claim->folder, sizeof claim->folder, "%s", folder);
            claim->lock = lock;
            claim->is_made = is_made;
            futimens(lock, NULL); /* an earlier run may have left the file */
            claim->since = fstat(lock, &locked) == 0 ? locked.st_mtim : (struct timespec){0};
            return CLAIM_OURS;
        }
        if (lock >= 0)
            close(lock);
    }
    errno = EBUSY;
    return CLAIM_FAILED;
}

/* Gives the folder back, and removes it if it was made by claim_take and is empty. */
static void claim_release(struct claim *claim)
{
    char path[LOCK_PATH_BYTES];
    if (claim->lock < 0)
        return;
    lock_path(path, claim->folder);
    unlink(path);
    if (claim->is_made)
        rmdir(claim->folder);
    close(claim->lock);
    *claim = CLAIM_NONE;
}

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

/* True if an entry is anything but the claim. */
static bool is_content(int folder, const char *name)
{
    (void)folder;
    return strcmp(name, SPOOL_CLAIM_FILE) != 0;
}

static bool is_spool(int folder, const char *name)
{
    (void)folder;
    return ends_with(name, SPOOL_SUFFIX) > 0;
}

/* True if an entry is none of those that processes leave in a folder of spools. */
static bool is_foreign(int folder, const char *name)
{
    return is_content(folder, name) && !is_spool(folder, name) && !ends_with(name, ".maps") &&
           !ends_with(name, ".xml") && !ends_with(name, ".run") &&
           strncmp(name, OUTPUT_UNFINISHED, strlen(OUTPUT_UNFINISHED)) != 0 && strcmp(name, REPORT_TOKEN) != 0 &&
           strcmp(name, REPORT_NAME) != 0;
}

static bool remove_content(int folder, const char *name)
{
    return is_content(folder, name) && unlinkat(folder, name, 0) == 0;
}

bool spool_folder_read_header(const char *path, const char *name, struct spool_header *header)
{
    char file_path[PATH_MAX];
    if (!ends_with(name, SPOOL_SUFFIX) ||
        snprintf(file_path, sizeof file_path, "%s/%s", path, name) >= (int)sizeof file_path)
        return false;
    FILE *file = fopen(file_path, "rbe");
    if (file == NULL)
        return false;
    size_t got = fread(header, sizeof *header, 1, file);
    fclose(file);
    return got == 1 && header->magic == SPOOL_MAGIC;
}

size_t spool_folder_count(const char *path)
{
    return walk(path, is_spool);
}

/* Renames a claimed folder to the first free PATH.1, PATH.2, ... and gives it back. Returns 0, or -1 with the reason.
 */
static int move_aside(struct claim *claim, const char *path, struct error *error)
{
    for (int number = 1; number < 1000; number++) {
        char aside[PATH_MAX];
        if (snprintf(aside, sizeof aside, "%s.%d", path, number) >= (int)sizeof aside)
            return error_set(error, "%s: holds an earlier run, and its name is too long to rename it", path);
        if (access(aside, F_OK) == 0)
            continue;
        if (rename(path, aside) != 0)
            return error_set(error, "%s: holds an earlier run and cannot be renamed: %s", path, strerror(errno));
        inform("%s held an earlier run: it is now %s", path, aside);
        memcpy(claim->folder, aside, sizeof claim->folder);
        claim_release(claim);
        return 0;
    }
    return error_set(error, "%s: holds an earlier run, and so do %s.1 to .999; remove some", path, path);
}

/* Claims OUTPUT.spool, empty. */
static enum spool_folder_result claim_collected(struct spool_folder *folder, struct error *error)
{
    for (;;) {
        enum claim_result result = claim_take(&folder->output_claim, folder->collected);
        if (result == CLAIM_TAKEN)
            return SPOOL_FOLDER_TAKEN;
        if (result == CLAIM_FAILED)
            return error_set(error, "%s: cannot be created or written to: %s", folder->collected, strerror(errno));
        folder->output_claim.is_made = true; /* an empty folder belongs to nobody */
        if (walk(folder->collected, is_content) == 0)
            return SPOOL_FOLDER_READY;
        if (move_aside(&folder->output_claim, folder->collected, error) != 0)
            return SPOOL_FOLDER_FAILED;
    }
}

/* Claims the folder given, empty: what a killed run left in it, as where a batch system starts a job again, is moved
 * aside. */
static enum spool_folder_result claim_given(struct spool_folder *folder, const char *given, struct error *error)
{
    for (;;) {
        switch (claim_take(&folder->given_claim, given)) {
        case CLAIM_FAILED:
            return error_set(error, "--spool %s: cannot be created or written to: %s", given, strerror(errno));
        case CLAIM_TAKEN:
            return error_set(
                error, "--spool %s: expected a folder of its own for this run: another mpistair run uses it", given);
        default:
            break;
        }
        char *absolute = realpath(given, NULL);
        if (absolute == NULL)
            return error_set(error, "--spool %s: %s", given, strerror(errno));
        snprintf(folder->path, sizeof folder->path, "%s", absolute);
        free(absolute);
        if (walk(given, is_content) == 0)
            return SPOOL_FOLDER_READY;
        if (walk(given, is_foreign) != 0)
            return error_set(error, "--spool %s: expected a folder of its own for this run, and this one is not empty",
                             given);
        if (move_aside(&folder->given_claim, folder->path, error) != 0)
            return SPOOL_FOLDER_FAILED;
    }
}

static enum spool_folder_result make_temporary(struct spool_folder *folder, struct error *error)
{
    char *temporary = getenv("TMPDIR") != NULL ? realpath(getenv("TMPDIR"), NULL) : NULL;
    int length =
        snprintf(folder->path, sizeof folder->path, "%s/mpistair-XXXXXX", temporary != NULL ? temporary : "/tmp");
    free(temporary);
    if (length >= (int)sizeof folder->path || mkdtemp(folder->path) == NULL)
        return error_set(error, "%s: cannot be made: %s; --spool names another place", folder->path, strerror(errno));
    folder->is_temporary = true;
    return SPOOL_FOLDER_READY;
}

enum spool_folder_result spool_folder_make(struct spool_folder *folder, const char *output, const char *given,
                                           struct error *error)
{
    char parent[PATH_MAX];
    *folder = (struct spool_folder){.output_claim = CLAIM_NONE, .given_claim = CLAIM_NONE};
    if (snprintf(folder->collected, sizeof folder->collected, "%s.spool", output) >= (int)sizeof folder->collected)
        return error_set(error, "%s: the name is too long", output);
    enum spool_folder_result result = claim_collected(folder, error);
    snprintf(parent, sizeof parent, "%s", output);
    if (result != SPOOL_FOLDER_READY)
        return result;
    if (given != NULL)
        result = claim_given(folder, given, error);
    else if (is_network(dirname(parent)))
        result = make_temporary(folder, error);
    else
        memcpy(folder->path, folder->collected, sizeof folder->path);
    if (result != SPOOL_FOLDER_READY)
        spool_folder_release(folder);
    return result;
}

enum spool_folder_result spool_folder_join(struct spool_folder *folder, const char *output, struct error *error)
{
    *folder = (struct spool_folder){.output_claim = CLAIM_NONE, .given_claim = CLAIM_NONE};
    if (snprintf(folder->collected, sizeof folder->collected, "%s.spool", output) >= (int)sizeof folder->collected)
        return error_set(error, "%s: the name is too long", output);
    memcpy(folder->path, folder->collected, sizeof folder->path);
    enum claim_result result = claim_take(&folder->output_claim, folder->collected);
    if (result == CLAIM_OURS)
        return SPOOL_FOLDER_READY;
    return error_set(error, result == CLAIM_TAKEN ? "%s: another mpistair uses it" : "%s: cannot be made: %s",
                     folder->collected, strerror(errno));
}

bool spool_folder_is_taken(const char *output)
{
    char collected[PATH_MAX + sizeof ".spool"];
    snprintf(collected, sizeof collected, "%s.spool", output);
    int lock = open_lock(collected, 0);
    bool is_taken = lock >= 0 && is_locked_by_other(lock);
    if (lock >= 0)
        close(lock);
    return is_taken;
}

static bool is_unfinished_removed(int folder, const char *name)
{
    return (strncmp(name, OUTPUT_UNFINISHED, strlen(OUTPUT_UNFINISHED)) == 0 || strcmp(name, REPORT_TOKEN) == 0 ||
            strcmp(name, REPORT_NAME) == 0) &&
           unlinkat(folder, name, 0) == 0;
}

void spool_folder_sweep(const char *path)
{
    int lock = open_lock(path, 0);
    if (lock < 0)
        return; /* it is none of `mpistair run` */
    if (!is_locked_by_other(lock))
        walk(path, is_unfinished_removed);
    close(lock);
}

void spool_folder_remove(const struct spool_folder *folder)
{
    walk(folder->path, remove_content);
    walk(folder->collected, remove_content);
}

void spool_folder_release(struct spool_folder *folder)
{
    if (folder->is_temporary)
        rmdir(folder->path);
    claim_release(&folder->given_claim);
    claim_release(&folder->output_claim);
}

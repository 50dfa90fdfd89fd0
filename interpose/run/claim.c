/* The owner holds a lock on a file in the folder. The kernel takes the lock back when the process ends, however it
 * ends, so a folder without one belongs to a run that is over. The file may be removed, or its folder renamed, between
 * its opening and its locking: what counts is the file that has the name once it is locked. See claim.h. */
#include "interpose/run/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/spool/readers.h"

enum { MOST_TRIALS = 100 };

static int open_lock(const char *folder, int flags)
{
    char path[PATH_MAX + sizeof "/" CLAIM_FILE];
    snprintf(path, sizeof path, "%s/" CLAIM_FILE, folder);
    return open(path, flags | O_RDWR | O_CLOEXEC, 0644);
}

/* True if the descriptor belongs to the file that has the name now. */
static bool has_name(int lock, const char *folder, struct stat *locked)
{
    char path[PATH_MAX + sizeof "/" CLAIM_FILE];
    struct stat named;
    snprintf(path, sizeof path, "%s/" CLAIM_FILE, folder);
    return fstat(lock, locked) == 0 && stat(path, &named) == 0 && named.st_ino == locked->st_ino &&
           named.st_dev == locked->st_dev;
}

/* True if another process holds the lock; a file system without locks counts as free. */
static bool is_locked_by_other(int lock)
{
    return flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

enum claim_result claim_take(struct claim *claim, const char *folder)
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

bool claim_is_taken(const char *folder)
{
    int lock = open_lock(folder, 0);
    bool is_taken = lock >= 0 && is_locked_by_other(lock);
    if (lock >= 0)
        close(lock);
    return is_taken;
}

void claim_release(struct claim *claim)
{
    char path[PATH_MAX + sizeof "/" CLAIM_FILE];
    if (claim->lock < 0)
        return;
    snprintf(path, sizeof path, "%s/" CLAIM_FILE, claim->folder);
    unlink(path);
    if (claim->is_made)
        rmdir(claim->folder);
    close(claim->lock);
    *claim = CLAIM_NONE;
}

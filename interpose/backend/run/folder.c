/* Another user of the machine may prepare the names that we are about to use, and the program may close our
 * descriptors: every step here checks that the folder is still ours. See folder.h. */
#include "interpose/backend/run/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/backend/recorder/state.h"
#include "interpose/spool/event.h"
#include "interpose/spool/spool_file.h"
#include "interpose/spool/readers.h"
#include "share/base/settings.h"

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int folder_make(struct run *run, int is_own)
{
    struct stat status;
    if (mkdir(run->folder, readers_folder_mode()) != 0 && errno != EEXIST)
        return errno;
    int fd = open(run->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_own ? O_NOFOLLOW : 0)), error = 0;
    if (fd < 0)
        return is_own && (errno == ELOOP || errno == ENOTDIR || errno == EACCES) ? EPERM : errno;
    if (fstat(fd, &status) != 0)
        error = errno;
    else if (is_own && (status.st_uid != geteuid() || (status.st_mode & 0022)))
        error = EPERM;
    close(fd);
    run->folder_device = status.st_dev;
    run->folder_inode = status.st_ino;
    return error;
}

int folder_open(const struct run *run)
{
    struct stat status;
    int fd = open(run->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 ||
        (fstat(fd, &status) == 0 && status.st_dev == run->folder_device && status.st_ino == run->folder_inode))
        return fd;
    close(fd);
    errno = ENOENT;
    return -1;
}

static int create(int folder, const char *name)
{
    return openat(folder, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, readers_file_mode());
}

int folder_create(const struct run *run, const char *path, int replace)
{
    const char *name = name_of(path);
    int folder = folder_open(run), fd = folder < 0 ? -1 : create(folder, name);
    if (replace && fd < 0 && errno == EEXIST && unlinkat(folder, name, 0) == 0)
        fd = create(folder, name);
    int error = errno;
    if (folder >= 0)
        close(folder);
    errno = error;
    return fd;
}

int folder_write(const struct run *run, const char *path, int (*write_all)(int fd, const void *data), const void *data)
{
    char beside[PATH_MAX];
    struct file_limit limit;
    int length = snprintf(beside, sizeof beside, "%s.new", path), result = -1;
    int fd = length < 0 || length >= (int)sizeof beside ? -1 : folder_create(run, beside, 1);
    if (fd < 0)
        return -1;
    file_limit_begin(&limit);
    result = write_all(fd, data);
    file_limit_end(&limit);
    result = close(fd) == 0 ? result : -1;
    int folder = folder_open(run);
    if (folder < 0)
        return -1;
    if (result == 0)
        result = renameat(folder, name_of(beside), folder, name_of(path));
    if (result != 0)
        unlinkat(folder, name_of(beside), 0);
    close(folder);
    return result;
}

#define FOLDER_ATTEMPTS 8

/* Makes the run's own folder. Where another user has a folder of that name, all processes of the node try the next
 * name. */
static int make_own_folder(struct run *run)
{
    int error = EPERM;
    for (int attempt = 0; attempt < FOLDER_ATTEMPTS && error == EPERM; attempt++) {
        run_name_own_folder(run->folder, run, attempt);
        error = folder_make(run, 1);
    }
    if (error == 0 && run->rank == 0)
        memcpy(run->facts.folder, run->folder, sizeof run->facts.folder);
    return error;
}

int folder_make_for(struct run *run)
{
    int own = run->folder[0] == '\0', error = own ? make_own_folder(run) : folder_make(run, 0);
    if (error != 0)
        return error;
    run->made_folder = own;
    int lengths[] = {
        snprintf(run->spool, sizeof run->spool, "%.3000s/%s-%d" SPOOL_SUFFIX, run->folder, run->facts.key, run->rank),
        snprintf(run->maps, sizeof run->maps, "%.3000s/%s-%d.maps", run->folder, run->facts.key, run->rank),
        snprintf(run->topology, sizeof run->topology, "%.3000s/%s-%016llx.xml", run->folder, run->facts.key,
                 (unsigned long long)run->host_key)};
    return lengths[0] > 0 && lengths[1] > 0 && lengths[2] > 0 ? 0 : ENAMETOOLONG;
}

/* Copies a file. Returns 0, or -1 with errno. */
static int copy_file(const char *from, const char *to)
{
    char *buffer = malloc(1 << 18);
    int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), failed = 1;
    if (in >= 0 && buffer)
        unlink(to); /* it may be from an earlier run of the same name, or another user's link */
    int out = in < 0 || !buffer ? -1 : open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, readers_file_mode());
    if (out >= 0) {
        struct file_limit limit;
        ssize_t length;
        failed = 0;
        file_limit_begin(&limit);
        while (!failed && (length = read(in, buffer, 1 << 18)) != 0)
            failed = length < 0 || write(out, buffer, (size_t)length) != length;
        file_limit_end(&limit);
        failed |= close(out) != 0;
    }
    int error = errno;
    if (in >= 0)
        close(in);
    free(buffer);
    errno = error;
    return failed ? -1 : 0;
}

/* Sets to = folder/(last part of path). */
static void join_name(char to[PATH_MAX], const char *folder, const char *path)
{
    snprintf(to, PATH_MAX, "%.3000s/%.500s", folder, name_of(path));
}

int run_collect(struct run *run)
{
    char folder[PATH_MAX], to[PATH_MAX];
    const char *ingest = setting("MPISTAIR_INGEST");
    snprintf(folder, sizeof folder, "%.4000s.spool", run->facts.output);
    join_name(to, folder, SPOOL_CLAIM_FILE);
    if (ingest && strcmp(ingest, "run") == 0 && access(to, F_OK) != 0)
        return -1; /* not the folder of `mpistair run`, which brings the files from here itself */
    join_name(to, folder, run->spool);
    int failed = mkdir(folder, readers_folder_mode()) != 0 && errno != EEXIST;
    failed = failed || copy_file(run->spool, to) != 0;
    if (!failed && run->maps[0]) {
        join_name(to, folder, run->maps);
        failed = copy_file(run->maps, to) != 0;
    }
    if (!failed && run->made_topology) {
        join_name(to, folder, run->topology);
        failed = copy_file(run->topology, to) != 0;
    }
    if (failed) {
        say_line("rank %d: its records cannot be copied to %s: %s; they stay in %s on %s", run->rank, folder,
                 strerror(errno), run->spool, run->host);
        return -1;
    }
    return 0;
}

void run_remove_files(const struct run *run, const char *folder, int remove_folder)
{
    DIR *listing = opendir(folder);
    size_t length = strlen(run->facts.key);
    struct dirent *entry;
    while (listing && (entry = readdir(listing)))
        if (strncmp(entry->d_name, run->facts.key, length) == 0 &&
            (entry->d_name[length] == '-' || entry->d_name[length] == '.'))
            unlinkat(dirfd(listing), entry->d_name, 0);
    if (listing)
        closedir(listing);
    if (remove_folder)
        rmdir(folder);
}

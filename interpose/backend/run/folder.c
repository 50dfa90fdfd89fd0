/* Another user of the machine may prepare the names that we are about to use, and the program may close our
 * descriptors: every step here checks that the folder is still ours. See folder.h. */
#include "interpose/backend/run/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/spool/file_limit.h"
#include "interpose/spool/readers.h"

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

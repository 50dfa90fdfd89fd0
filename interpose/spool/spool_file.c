/* Guards the one descriptor that the recorder keeps open in the user's process. Blocks are allocated before they are
 * mapped, so that a full disk is an error of a call here and not a SIGBUS in the program. */
#include "interpose/spool/spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "interpose/spool/clock.h"

static sigset_t only_too_large(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    return signals;
}

void file_limit_begin(struct file_limit *limit)
{
    const sigset_t signals = only_too_large();
    pthread_sigmask(SIG_BLOCK, &signals, &limit->before);
}

void file_limit_end(const struct file_limit *limit)
{
    const sigset_t signals = only_too_large();
    const struct timespec none = {0, 0};
    int saved_errno = errno;
    /* A signal that was pending before belongs to the program, which has it blocked. */
    if (!sigismember(&limit->before, SIGXFSZ))
        while (sigtimedwait(&signals, NULL, &none) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &limit->before, NULL);
    errno = saved_errno;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

enum {
    HIGHEST = 4096,         /* the kernel's table of descriptors grows with the highest */
    ROOM = 64,              /* descriptors up there */
    SLICE_BYTES = 64 << 10, /* pages are made for as many bytes at a time: each time the address space is locked */
    SPARE_BYTES = 16 << 20, /* address space that is spared for the program where it is limited */
};

/* Returns whether the system forbids a call that the recorder can do without: as file systems that do not have it, and
 * filters of seccomp, do. */
static int is_forbidden(int error)
{
    return error == EOPNOTSUPP || error == ENOSYS || error == EPERM || error == EACCES;
}

/* Returns a copy of the descriptor with a high number; -1: there is none. */
static int high_copy(int fd)
{
    struct rlimit numbers;
    if (getrlimit(RLIMIT_NOFILE, &numbers) != 0)
        return -1;
    int end = numbers.rlim_cur < HIGHEST ? (int)numbers.rlim_cur : HIGHEST;
    return end - ROOM > fd ? fcntl(fd, F_DUPFD_CLOEXEC, end - ROOM) : -1;
}

void spool_file_expect(void)
{
    int saved_errno = errno, fd = open("/", O_PATH | O_CLOEXEC), high = fd >= 0 ? high_copy(fd) : -1;
    if (high >= 0)
        close(high);
    if (fd >= 0)
        close(fd);
    errno = saved_errno;
}

int spool_file_take(struct spool_file *file, int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return -1;
    int high = high_copy(fd);
    if (high >= 0) {
        close(fd);
        fd = high;
    }
    *file = (struct spool_file){.fd = fd, .device = status.st_dev, .inode = status.st_ino};
    return 0;
}

int spool_file_descriptor(const struct spool_file *file)
{
    struct stat status;
    if (file->fd >= 0 && fstat(file->fd, &status) == 0 && status.st_dev == file->device && status.st_ino == file->inode)
        return file->fd;
    errno = EBADF;
    return -1;
}

void spool_file_close(struct spool_file *file)
{
    int fd = spool_file_descriptor(file);
    if (fd >= 0)
        close(fd);
    file->fd = -1;
}

int spool_file_allocate(const struct spool_file *file, off_t offset, off_t bytes)
{
    struct file_limit limit;
    int error;
    file_limit_begin(&limit);
    do {
        int fd = spool_file_descriptor(file);
        error = fd >= 0 && fallocate(fd, 0, offset, bytes) == 0 ? 0 : errno;
    } while (error == EINTR);
    file_limit_end(&limit);
    return error;
}

/* Allocates by writing zeros, where nothing else is possible; nothing may be stored there yet. */
static int write_zeros(const struct spool_file *file, off_t offset, size_t bytes)
{
    static const uint8_t zeros[SLICE_BYTES];
    struct file_limit limit;
    int error = 0;
    file_limit_begin(&limit);
    while (bytes > 0 && error == 0) {
        int fd = spool_file_descriptor(file);
        ssize_t written = fd < 0 ? -1 : pwrite(fd, zeros, bytes < sizeof zeros ? bytes : sizeof zeros, offset);
        if (written >= 0) {
            offset += written;
            bytes -= (size_t)written;
        } else if (errno != EINTR) {
            error = errno;
        }
    }
    file_limit_end(&limit);
    return error;
}

/* Returns the bytes of the process's address space; 0 where that cannot be read. */
static uint64_t address_space_bytes(void)
{
    char text[32];
    spool_read_text("/proc/self/statm", text, sizeof text);
    return strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Returns whether RLIMIT_AS is set. *is_reached tells whether it leaves too little room for so many bytes and for
 * what is spared for the program. */
static int is_limited(uint64_t bytes, int *is_reached)
{
    struct rlimit space;
    *is_reached = 0;
    if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY)
        return 0;
    *is_reached = address_space_bytes() + bytes + SPARE_BYTES > space.rlim_cur;
    return 1;
}

/* Makes the pages for bytes whose blocks are allocated. Returns 0 or an errno value. */
static int populate(uint8_t *map, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += SLICE_BYTES)
        if (madvise(map + at, bytes - at < SLICE_BYTES ? bytes - at : SLICE_BYTES, MADV_POPULATE_WRITE) != 0)
            /* the kernel is older (EINVAL); the pages then fault in one by one, as their blocks are allocated */
            return errno == EINVAL || is_forbidden(errno) ? 0 : errno;
    return 0;
}

static enum spool_loss cause_of(int error)
{
    switch (error) {
    case EBADF:
        return SPOOL_LOSS_CLOSED;
    case EFBIG:
        return SPOOL_LOSS_FILE_SIZE;
    case ENOSPC:
        return SPOOL_LOSS_DISK;
    case ENOMEM:
        return SPOOL_LOSS_MEMORY;
    default:
        return SPOOL_LOSS_REFUSED;
    }
}

void *spool_file_map(const struct spool_file *file, off_t offset, size_t bytes, int allocated, enum spool_loss *cause)
{
    int is_reached, limited = is_limited(bytes, &is_reached), error = 0;
    if (is_reached) {
        *cause = SPOOL_LOSS_ADDRESS_SPACE;
        errno = ENOMEM;
        return NULL;
    }
    if (!allocated)
        error = spool_file_allocate(file, offset, (off_t)bytes);
    if (is_forbidden(error))
        error = write_zeros(file, offset, bytes);
    if (error != 0) {
        *cause = cause_of(error);
        errno = error;
        return NULL;
    }
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, offset);
    if (map == MAP_FAILED && errno == ENOMEM) {
        *cause = limited ? SPOOL_LOSS_ADDRESS_SPACE : SPOOL_LOSS_MEMORY;
        return NULL;
    }
    int map_error = map == MAP_FAILED ? errno : 0;
    if (spool_file_descriptor(file) < 0)
        error = EBADF;
    else
        error = map_error != 0 ? map_error : populate(map, bytes);
    if (error == 0)
        return map;
    if (map != MAP_FAILED)
        munmap(map, bytes);
    *cause = cause_of(error);
    errno = error;
    return NULL;
}

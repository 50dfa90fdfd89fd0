/* The descriptor of a spool, which the program may close.
 *
 * Programs close descriptors that they do not own, and the next file that they open gets the number. So ours is moved
 * up, where numbers are not given out soon. Before every use it is compared with the file that was opened, so that what
 * the recorder writes never goes to another file. Less than a microsecond lies between the look and the use; a mapping
 * is looked at once more before anything is stored through it. A descriptor that is gone stays gone: opening the file
 * anew would take a number at a moment when the program may count on it. */
#ifndef MPISTAIR_SPOOL_SPOOL_FILE_H
#define MPISTAIR_SPOOL_SPOOL_FILE_H

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include "interpose/spool/event.h"

/* A write beyond RLIMIT_FSIZE ends the process by SIGXFSZ, and the program may lower that limit at any time. So the
 * recorder writes only between these two calls, where such a write fails with EFBIG instead. The signal goes to the
 * thread that writes, so other threads are not concerned. */
struct file_limit {
    sigset_t before;
};

void file_limit_begin(struct file_limit *limit);

/* Restores the signal's state and leaves errno alone. */
void file_limit_end(const struct file_limit *limit);

struct spool_file {
    int fd; /* -1: closed by us */
    dev_t device;
    ino_t inode;
};

/* Makes the kernel's table of descriptors as large as spool_file_take will need it. Later, when the MPI has threads,
 * the kernel waits for all processors as it grows (expand_fdtable calls synchronize_rcu): 10 to 20 ms. */
void spool_file_expect(void);

/* Takes over an open descriptor, which gets a number as high as is reasonable. Returns 0, or -1 with errno. */
int spool_file_take(struct spool_file *file, int fd);

/* Returns the descriptor, or -1 with errno EBADF if it is no longer the file's. */
int spool_file_descriptor(const struct spool_file *file);

/* Closes the descriptor, if it is the file's. */
void spool_file_close(struct spool_file *file);

/* Allocates the blocks of bytes at offset on the disk; whatever is there stays. Returns 0 or an errno value. */
int spool_file_allocate(const struct spool_file *file, off_t offset, off_t bytes);

/* Maps bytes at offset with blocks on the disk behind them, since a store into a mapping without blocks ends in SIGBUS
 * on a full disk. allocated says that they have their blocks; otherwise nothing may be stored there yet. Returns NULL
 * with *cause and errno set on failure. What a filter of seccomp forbids is done without where that is possible: it
 * needs fallocate or pwrite, and mmap. */
void *spool_file_map(const struct spool_file *file, off_t offset, size_t bytes, int allocated, enum spool_loss *cause);

#endif

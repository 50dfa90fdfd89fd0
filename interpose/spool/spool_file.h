/* The descriptor of a spool, which the program may close.
 *
 * Programs close descriptors that they do not own, and the next file that they open gets the number. So ours is moved
 * up, where numbers are not given out soon, and before every use it is held against the file that was opened: what the
 * recorder writes never goes to another. Between the look and the use lies less than a microsecond; a mapping is looked
 * at once more before anything is stored through it. A descriptor that is gone is gone for good: to open the file anew
 * would take a number at a moment when the program may count on it.
 */
#ifndef MPISTAIR_SPOOL_SPOOL_FILE_H
#define MPISTAIR_SPOOL_SPOOL_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "interpose/spool/event.h"

struct spool_file {
    int fd; /* -1: closed by us */
    dev_t device;
    ino_t inode;
};

/* Takes over an open descriptor, which gets a number as high as is reasonable. Returns 0, or -1 with errno. */
int spool_file_take(struct spool_file *file, int fd);

/* The descriptor; -1 with errno EBADF: it is no longer the file's. */
int spool_file_descriptor(const struct spool_file *file);

/* Closes the descriptor, if it is the file's. */
void spool_file_close(struct spool_file *file);

/* Gives bytes at offset their blocks on the disk; whatever is there stays. Returns 0 or an errno value. */
int spool_file_allocate(const struct spool_file *file, off_t offset, off_t bytes);

/* Maps bytes at offset with room on the disk behind them, since a store into a mapping without blocks ends in SIGBUS on
 * a full disk. allocated: they have their blocks; else nothing is stored there yet. NULL with *cause and errno set. */
void *spool_file_map(const struct spool_file *file, off_t offset, size_t bytes, int allocated, enum spool_loss *cause);

#endif

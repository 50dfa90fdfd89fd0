/* A write beyond RLIMIT_FSIZE ends the process by SIGXFSZ, and the program may lower that limit at any time: what the
 * recorder writes is written between these two, where it fails with EFBIG instead. The signal comes to the thread that
 * writes, so other threads are not concerned.
 */
#ifndef MPISTAIR_SPOOL_FILE_LIMIT_H
#define MPISTAIR_SPOOL_FILE_LIMIT_H

#include <signal.h>

struct file_limit {
    sigset_t before;
};

void file_limit_begin(struct file_limit *limit);

/* Leaves errno alone. */
void file_limit_end(const struct file_limit *limit);

#endif

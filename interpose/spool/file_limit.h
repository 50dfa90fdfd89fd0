/* A write beyond RLIMIT_FSIZE ends the process by SIGXFSZ, and the program may lower that limit at any time. So the
 * recorder writes only between these two calls, where such a write fails with EFBIG instead. The signal goes to the
 * thread that writes, so other threads are not concerned. */
#ifndef MPISTAIR_SPOOL_FILE_LIMIT_H
#define MPISTAIR_SPOOL_FILE_LIMIT_H

#include <signal.h>

struct file_limit {
    sigset_t before;
};

void file_limit_begin(struct file_limit *limit);

/* Restores the signal's state and leaves errno alone. */
void file_limit_end(const struct file_limit *limit);

#endif

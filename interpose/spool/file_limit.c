/* Blocks SIGXFSZ for the thread that writes and takes back what the write raised, so that a file size limit costs
 * records and not the process. */
#include "interpose/spool/file_limit.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

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

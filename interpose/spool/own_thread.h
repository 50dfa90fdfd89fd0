/* Starts the recorder's own threads in the program's process. */
#ifndef MPISTAIR_SPOOL_OWN_THREAD_H
#define MPISTAIR_SPOOL_OWN_THREAD_H

#include <pthread.h>

/* Starts a thread that takes no signals, may run on any processor of the job, not only on those to which the rank is
 * bound, has a small stack and the name "mpistair". Returns 0, or another value where that is impossible. */
int own_thread_start(pthread_t *thread, void *(*run)(void *), void *data);

#endif

/* A thread waits beside the one that is in MPI, which cannot speak while it hangs; it calls no MPI itself. See
 * patience.h. */
#include "interpose/backend/process/patience.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>

static void *wait_for_end(void *argument)
{
    struct patience *patience = argument;
    struct timespec deadline;
    int error = 0;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&patience->lock);
    while (!patience->done && error == 0)
        error = pthread_cond_timedwait(&patience->done_changed, &patience->lock, &deadline);
    if (!patience->done)
        fprintf(stderr,
                "mpistair: rank %d has waited %d s for all %d processes to join the recording; one that was started "
                "without LD_PRELOAD never will. Start all of them with it: mpistair run, or with Open MPI on several "
                "hosts mpiexec -x LD_PRELOAD\n",
                patience->rank, PATIENCE_S, patience->size);
    pthread_mutex_unlock(&patience->lock);
    return NULL;
}

void patience_begin(struct patience *patience, int rank, int size)
{
    pthread_condattr_t attributes;
    sigset_t all, before;
    *patience = (struct patience){.rank = rank, .size = size};
    if (size == 1)
        return;
    pthread_mutex_init(&patience->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&patience->done_changed, &attributes);
    pthread_condattr_destroy(&attributes);
    sigfillset(&all); /* signals belong to the application's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    patience->watched = pthread_create(&patience->thread, NULL, wait_for_end, patience) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void patience_end(struct patience *patience)
{
    if (!patience->watched)
        return;
    pthread_mutex_lock(&patience->lock);
    patience->done = 1;
    pthread_cond_signal(&patience->done_changed);
    pthread_mutex_unlock(&patience->lock);
    pthread_join(patience->thread, NULL);
    pthread_cond_destroy(&patience->done_changed);
    pthread_mutex_destroy(&patience->lock);
}

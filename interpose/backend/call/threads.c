/* Threads come and go as they like: a lane of the spool is theirs from their first recorded call to their end. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "interpose/backend/recorder/state.h"
#include "interpose/backend/site/modules.h"
#include "interpose/backend/call/site.h"
#include "interpose/backend/table/shared_queue.h"

static pthread_key_t thread_key;
static pthread_once_t thread_key_once = PTHREAD_ONCE_INIT;
static int has_thread_key;

/* Ends a thread: its lane goes to the next new thread. */
static void thread_ended(void *memory)
{
    struct recorder_thread *thread = memory;
    recorder_thread = NULL;
    if (recorder.pid == getpid())
        spool_lane_release(thread->lane);
    shared_queue_release(thread);
    free(thread->scratch.memory);
    free(thread->sums);
    free(thread);
}

static void make_thread_key(void)
{
    has_thread_key = pthread_key_create(&thread_key, thread_ended) == 0;
}

struct recorder_thread *recorder_thread_begin(void)
{
    int saved_errno = errno;
    pthread_once(&thread_key_once, make_thread_key);
    struct recorder_thread *thread = calloc(1, sizeof *thread);
    if (thread) {
        thread->lane = spool_lane_acquire(&recorder.spool);
        thread->fortran_note = site_note();
        thread->communicator_epoch = __atomic_load_n(&recorder.communicator_epoch, __ATOMIC_RELAXED) - 1;
    }
    if (!thread || !thread->lane) {
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
        free(thread);
        thread = NULL;
    }
    if (thread && has_thread_key)
        pthread_setspecific(thread_key, thread);
    recorder_thread = thread;
    modules_note(); /* what a new thread calls from may be new */
    errno = saved_errno;
    return thread;
}

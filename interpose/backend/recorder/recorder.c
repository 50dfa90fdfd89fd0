/* The state of the recorder and the coming and going of threads, see recorder.h. */
#include "interpose/backend/recorder/recorder.h"
#include "interpose/backend/site/site.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "interpose/backend/table/shared_queue.h"

struct recorder recorder;
_Thread_local struct recorder_thread *recorder_thread;

static pthread_key_t thread_key;
static pthread_once_t thread_key_once = PTHREAD_ONCE_INIT;
static int has_thread_key;

void *scratch_borrow(struct scratch *scratch, size_t bytes)
{
    int saved_errno = errno;
    void *memory = scratch->memory;
    if (scratch->busy) {
        memory = malloc(bytes);
    } else if (bytes > scratch->bytes) {
        memory = realloc(scratch->memory, bytes * 2);
        if (memory) {
            scratch->memory = memory;
            scratch->bytes = bytes * 2;
        }
    }
    if (memory == scratch->memory)
        scratch->busy = 1;
    errno = saved_errno;
    return memory;
}

void scratch_return(struct scratch *scratch, void *memory)
{
    if (memory && memory == scratch->memory)
        scratch->busy = 0;
    else
        free(memory);
}

/* Runs when a thread ends: its lane goes to the next new thread. */
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
    errno = saved_errno;
    return thread;
}

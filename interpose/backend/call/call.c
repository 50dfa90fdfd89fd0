/* The call site of a call, and the threads that call. See call.h. */
#include "interpose/backend/call/call.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "interpose/backend/site/modules.h"
#include "interpose/backend/table/request_table.h"

/* In C the call site is the wrapper's return address. In Fortran a layer of MPI lies between; the preload library's
 * Fortran stubs noted the application's address before (bind.h). Only a call that comes from a Fortran layer takes a
 * note, and every call empties it. So the note of a call that never reached C is gone with the next call. */
static struct mpistair_fortran_note *site_note(void)
{
    static struct mpistair_fortran_note none; /* serves a host without Fortran; stays empty */
    return recorder.host && recorder.host->fortran_note ? recorder.host->fortran_note() : &none;
}

static int is_fortran_layer(uintptr_t address)
{
    return recorder.host->is_fortran_layer((const void *)address);
}

static uint64_t noted_site(const struct recorder_thread *thread, const void *return_address)
{
    struct mpistair_fortran_note *note = thread ? thread->fortran_note : site_note();
    uintptr_t own = (uintptr_t)return_address, site = note->site, outer = note->outer;
    if (site == 0)
        return own;
    *note = (struct mpistair_fortran_note){0};
    if (!is_fortran_layer(own))
        return own;
    return outer && is_fortran_layer(site) ? outer : site;
}

int call_begin_rare(struct recorded_call *call, enum mpistair_function function, const void *return_address)
{
    uint64_t site = noted_site(recorder_thread, return_address);
    call->thread = NULL;
    if (!is_recording())
        return 0;
    call->thread = recorder_thread_own();
    call->function = function;
    call->site = site;
    if (recorder.stack_frames != 0 && call->thread)
        stack_note(call->thread, function, site);
    if (call->thread)
        call->site |= call->thread->region;
    call->begin_ticks = now_ticks();
    if (call->begin_ticks >= __atomic_load_n(&recorder.window_ticks, __ATOMIC_RELAXED))
        window_pass(call);
    return call->thread != NULL;
}

int call_begin_test(struct recorded_call *call, enum mpistair_function function, const void *return_address)
{
    struct recorder_thread *thread = recorder_thread;
    if (thread && thread->fortran_note->site == 0) {
        struct spool_idle *row = idle_row(thread, function, site_of_call(thread, return_address));
        if (row && row->timed != 0 && --thread->untimed_left != 0 && is_recording_steadily()) {
            *call = (struct recorded_call){thread, 0, site_of_call(thread, return_address), function, {.row = row}};
            return 1;
        }
        if (thread->untimed_left == 0)
            thread->untimed_left = next_untimed(thread);
    }
    return call_begin(call, function, return_address);
}

/* A lane of the spool belongs to a thread from its first recorded call to its end. */
static pthread_key_t thread_key;
static pthread_once_t thread_key_once = PTHREAD_ONCE_INIT;
static int has_thread_key;

/* Ends a thread: its lane goes to the next new thread. */
static void thread_ended(void *memory)
{
    struct recorder_thread *thread = memory;
    if (thread->end_regions)
        thread->end_regions(thread);
    recorder_thread = NULL;
    if (recorder.pid == getpid())
        spool_lane_release(thread->lane);
    shared_queue_release(thread);
    free(thread->scratch.memory);
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
        thread->random = (now_ticks() ^ (uint64_t)(uintptr_t)thread) | 1;
        thread->untimed_left = next_untimed(thread);
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

/* What a wrapper does first: time, call site, stack and window of a call, and a lane of the spool for its thread.
 *
 * A wrapper (generated from mpi.tbl) keeps a struct recorded_call on its stack. The begin function of its family stores
 * a record into the spool, the MPI's own function runs, and the end function completes the record. call.thread is NULL
 * where nothing is recorded: before MPI_Init, after MPI_Finalize, in forked children, without a spool. */
#ifndef MPISTAIR_BACKEND_CALL_H
#define MPISTAIR_BACKEND_CALL_H

#include "interpose/backend/call/window.h"
#include "interpose/backend/recorder/state.h"
#include "interpose/backend/site/stack.h"

/* Gives the calling thread its lane; returns NULL without memory. */
struct recorder_thread *recorder_thread_begin(void);

/* Returns the state of the calling thread, whose first call makes it; NULL without memory. */
static inline struct recorder_thread *recorder_thread_own(void)
{
    return recorder_thread ? recorder_thread : recorder_thread_begin();
}

/* Returns the application's call site from the return address of a wrapper, which lies in a Fortran layer where the
 * application is Fortran. C callers pay for one look at the thread's note, which is empty for them. */
uint64_t recorder_noted_site(const void *return_address);
static inline uint64_t recorder_site(const void *return_address)
{
    const struct recorder_thread *thread = recorder_thread;
    if (__builtin_expect(thread && !thread->fortran_note->site, 1))
        return (uint64_t)(uintptr_t)return_address;
    return recorder_noted_site(return_address);
}

/* Comes first in every wrapper. Returns whether the call is recorded. */
static inline int call_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site)
{
    call->thread = NULL;
    if (__builtin_expect(!is_recording(), 0))
        return 0;
    call->thread = recorder_thread_own();
    call->function = function;
    call->site = site;
    if (__builtin_expect(recorder.stack_frames != 0, 0) && call->thread)
        stack_note(call->thread, function, site);
    call->begin_ticks = now_ticks();
    if (__builtin_expect(call->begin_ticks >= __atomic_load_n(&recorder.window_ticks, __ATOMIC_RELAXED), 0))
        window_pass(call);
    return call->thread != NULL;
}

/* Does the same out of line, for functions that are rarely called. */
int call_begin_rare(struct recorded_call *call, enum mpistair_function function, const void *return_address);

/* Returns whether the end function has something to record: not where the recorder closed during the call. */
static inline int call_recorded(const struct recorded_call *call)
{
    return call->thread && is_recording();
}

#endif

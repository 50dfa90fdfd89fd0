/* What a wrapper does first: time, call site, stack and window of a call, and a lane of the spool for its thread.
 *
 * A wrapper (generated from mpi.tbl) keeps a struct recorded_call on its stack. The begin function of its family stores
 * a record into the spool, the MPI's own function runs, and the end function completes the record. call.thread is NULL
 * where nothing is recorded: before MPI_Init, after MPI_Finalize, in forked children, without a spool. */
#ifndef MPISTAIR_BACKEND_CALL_H
#define MPISTAIR_BACKEND_CALL_H

#include "interpose/backend/call/timed_call.h"
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

/* Comes first in every wrapper. The application's call site is the return address of the wrapper, which lies in a
 * Fortran layer where the application is Fortran. Returns whether the call is recorded. */
int call_begin_rare(struct recorded_call *call, enum mpistair_function function, const void *return_address);

/* Does the same with the usual case inline, for functions that programs call by the million: a known thread, and
 * a C caller, for whom the thread's note is empty. */
static inline int call_begin(struct recorded_call *call, enum mpistair_function function, const void *return_address)
{
    struct recorder_thread *thread = recorder_thread;
    if (__builtin_expect(!thread, 0) || __builtin_expect(!is_recording_quickly(), 0) ||
        __builtin_expect(thread->fortran_note->site != 0, 0))
        return call_begin_rare(call, function, return_address);
    call->thread = thread;
    call->function = function;
    call->site = site_of_call(thread, return_address);
    call->begin_ticks = quick_ticks();
    if (__builtin_expect(call->begin_ticks >= __atomic_load_n(&recorder.window_ticks, __ATOMIC_RELAXED), 0))
        window_pass(call);
    return 1;
}

/* Does the same for tests and probes that may find nothing. In a row of such calls the first two have their times taken
 * and then one in 64: a timestamp costs more than all else here. */
int call_begin_test(struct recorded_call *call, enum mpistair_function function, const void *return_address);

/* What is only counted goes on with the newest row, and begins nothing before MPI is called but to keep what MPI
 * overwrites; only where it finds something is it made the call that call_begin_test would have begun. */

/* Returns the row of such a test; NULL: it may be none. A Fortran layer's own address is that of no row. */
IN_WRAPPER struct spool_idle *counted_row(enum mpistair_function function, const void *return_address)
{
    struct recorder_thread *thread = recorder_thread;
    struct spool_idle *row = thread ? idle_row_newest(thread) : NULL;
    if (__builtin_expect(!row || !is_of_row(row, function, site_of_call(thread, return_address)) || row->timed == 0 ||
                             thread->untimed_left <= 1 || !is_recording_steadily(),
                         0))
        return NULL;
    thread->untimed_left--;
    return row;
}

/* Counts it where it found nothing. Returns whether the row still goes on. */
IN_WRAPPER int count_test(struct spool_idle *row)
{
    const struct recorder_thread *thread = recorder_thread;
    if (!is_recording_quickly() || thread->lane->sequence != thread->idle_sequence)
        return 0;
    row->calls++;
    return 1;
}

static inline struct recorded_call counted_call(struct spool_idle *row, enum mpistair_function function,
                                                const void *return_address)
{
    return (struct recorded_call){
        recorder_thread, 0, site_of_call(recorder_thread, return_address), function, {.row = row}};
}

/* Returns whether the end function has something to record: not where the recorder closed during the call. */
static inline int call_recorded(const struct recorded_call *call)
{
    return call->thread && is_recording();
}

#endif

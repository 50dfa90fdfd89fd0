/* Records of calls that are no operation of their own and whose time counts.
 *
 * Completion calls, probes, MPI_Mrecv and MPI_Cancel have one short record each. Programs call in loops what comes back
 * without a result, so such calls are summed (spool_idle). While recording is off all are added to the totals. */
#ifndef MPISTAIR_BACKEND_TIMED_CALL_H
#define MPISTAIR_BACKEND_TIMED_CALL_H

#include "interpose/backend/call/total.h"

/* Tests come by the million, many of them without a result: MPI_Test in a loop until it says yes. Those that a thread
 * makes without storing anything else make up a row for each place, and rows lie behind each other. */

static inline int is_of_row(const struct spool_idle *row, enum mpistair_function function, uint64_t site)
{
    return row->site == site && row->function == function;
}

/* Returns the newest row; NULL: something else was stored since, or there is none. */
static inline struct spool_idle *idle_row_newest(const struct recorder_thread *thread)
{
    if (!thread->idle_end || thread->lane->next != thread->idle_end || thread->lane->sequence != thread->idle_sequence)
        return NULL; /* a later chunk may lie where that of the rows lay */
    return (struct spool_idle *)(void *)thread->idle_end - 1;
}

/* Returns the row that a call from this place goes on with; NULL: there is none. */
struct spool_idle *idle_row(const struct recorder_thread *thread, enum mpistair_function function, uint64_t site);

/* Returns how many tests are counted until the next one has its time taken: 64 on average. */
static inline uint32_t next_untimed(struct recorder_thread *thread)
{
    thread->random ^= thread->random << 13;
    thread->random ^= thread->random >> 7;
    thread->random ^= thread->random << 17;
    return 1 + (uint32_t)(thread->random >> 32) % 127;
}

/* Adds a call to the totals. */
void timed_call_sum(const struct recorded_call *call, uint64_t end_ticks);

/* Stores the record of a call that reported so many operations; is_estimated says that its begin is not known. */
static inline void timed_call_store_as(const struct recorded_call *call, uint32_t completed, uint64_t end_ticks,
                                       int is_estimated)
{
    struct recorder_thread *thread = call->thread;
    if (__builtin_expect(__atomic_load_n(&recorder.off, __ATOMIC_RELAXED) != 0, 0)) {
        timed_call_sum(call, end_ticks);
        return;
    }
    struct spool_call *record = spool_lane_reserve(thread->lane, sizeof *record);
    if (!record)
        return;
    record->function = (uint16_t)call->function;
    record->completed = completed;
    record->begin_ticks = call->begin_ticks;
    record->site = call->site;
    record->call_ticks = end_ticks - call->begin_ticks;
    record->estimated = is_estimated != 0;
    spool_record_publish(record, SPOOL_CALL);
}

static inline void timed_call_store(const struct recorded_call *call, uint32_t completed, uint64_t end_ticks)
{
    timed_call_store_as(call, completed, end_ticks, 0);
}

/* Adds a test or probe without a result, of which so far nothing was stored, to its row: see spool_idle. */
void timed_call_idle(const struct recorded_call *call, uint64_t end_ticks);

/* Counts one whose time is not taken. */
static inline void untimed_call_idle(const struct recorded_call *call)
{
    if (__builtin_expect(call->thread->lane->sequence == call->thread->idle_sequence, 1))
        call->row->calls++;
    else
        timed_call_idle(call, now_ticks());
}

/* Stores a test that found something behind others that did not, whose own time is not taken. */
void untimed_call_store(const struct recorded_call *call, uint32_t completed, uint64_t end_ticks);

/* Stores a test that found something. */
static inline void test_store(const struct recorded_call *call, uint32_t completed, uint64_t end_ticks)
{
    if (call->begin_ticks != 0)
        timed_call_store(call, completed, end_ticks);
    else
        untimed_call_store(call, completed, end_ticks);
}

#endif

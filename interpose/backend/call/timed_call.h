/* Records calls that are no operation of their own and whose time counts: completion calls, probes, MPI_Mrecv,
 * MPI_Cancel. Each has one short record. Programs call in loops what comes back without a result, so such calls are
 * summed. */
#ifndef MPISTAIR_BACKEND_TIMED_CALL_H
#define MPISTAIR_BACKEND_TIMED_CALL_H

#include "interpose/backend/call/sum.h"

/* Stores the record of a call that reported so many operations. */
static inline void timed_call_store(const struct recorded_call *call, uint32_t completed, uint64_t end_ticks)
{
    struct recorder_thread *thread = call->thread;
    if (__builtin_expect(__atomic_load_n(&recorder.off, __ATOMIC_RELAXED) != 0, 0) ||
        (completed == 0 && __builtin_expect(thread->n_calls++ >= recorder.detail, 0))) {
        const struct sum_key key = sum_key_of(call);
        sum_add(call, &key, 0, end_ticks);
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
    spool_record_publish(record, SPOOL_CALL);
}

/* Sums a test or probe without a result, of which so far nothing was stored: see spool_idle. */
void timed_call_idle(const struct recorded_call *call, uint64_t end_ticks);

#endif

/* Records of calls that are no operation of their own and whose time counts.
 *
 * Completion calls, probes, MPI_Mrecv and MPI_Cancel have one short record each. Programs call in loops what comes back
 * without a result, so such calls are summed (spool_idle).
 *
 * A sum (spool_sum) counts calls by function, call site, communicator and target: calls that come by the million in
 * long jobs (MPISTAIR_DETAIL), and everything while recording is off. It is counted up in place, in the chunk that
 * its thread fills: a killed job keeps it. It ends with the chunk, when recording is switched, and after a 64th of
 * the process's time so far, so that long jobs have few and short ones many. */
#ifndef MPISTAIR_BACKEND_SUM_H
#define MPISTAIR_BACKEND_SUM_H

#include "interpose/backend/recorder/state.h"

struct sum_key {
    uint64_t site;
    uint32_t communicator; /* SPOOL_NO_COMMUNICATOR: none */
    int32_t target;        /* -1: none */
    uint16_t function;
    uint16_t flags; /* SPOOL_OFF */
};

/* Returns the key of a call without communicator and target; flags tell whether recording is on now. */
static inline struct sum_key sum_key_of(const struct recorded_call *call)
{
    return (struct sum_key){.site = call->site,
                            .communicator = SPOOL_NO_COMMUNICATOR,
                            .target = -1,
                            .function = (uint16_t)call->function,
                            .flags = (uint16_t)__atomic_load_n(&recorder.off, __ATOMIC_RELAXED)};
}

/* Adds one call. Without room it is counted as lost. */
void sum_add(const struct recorded_call *call, const struct sum_key *key, uint64_t bytes, uint64_t end_ticks);

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

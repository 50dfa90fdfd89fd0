/* Sums calls by function, call site, communicator and target, in spool_sum records. It serves calls that come by the
 * million in long jobs (MPISTAIR_DETAIL), and everything while recording is off.
 *
 * A sum is counted up in place, in the chunk that its thread fills: a killed job keeps it. It ends with the chunk, when
 * recording is switched, and after a 64th of the process's time so far, so that long jobs have few and short ones many.
 */
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

/* Ends the sums of all threads: what comes from here on is added to new ones. */
void sum_end_all(void);

#endif

/* Adds calls to the totals of the process without a record: all of them with MPISTAIR_DETAIL=none (`mpistair run
 * --sums`), and, while recording is off, those that need no partner (pcontrol_begin).
 *
 * A call costs a look into a small table of the entries that were met last, and one at the current window of the
 * course. There is one table of totals for all threads: only under MPI_THREAD_MULTIPLE do several call MPI at once, and
 * then a lock guards it, which costs less than atomic additions to each number and lets the course widen.
 *
 * With MPISTAIR_DETAIL=none hot functions have wrappers of their own, which copy no handle and know no request: the
 * time of a call, its place, its communicator and its peer as posted are all that is counted. */
#ifndef MPISTAIR_BACKEND_TOTAL_H
#define MPISTAIR_BACKEND_TOTAL_H

#include "interpose/backend/recorder/state.h"

/* Entries of the totals that were met last, by a hash of their keys: the caller's, the entry may name less. */
enum { KNOWN_TOTALS = 256 };

struct known_total {
    uint64_t site;
    uint64_t partner; /* communicator, peer */
    uint64_t rest;    /* function, bin, flags */
    struct spool_total *entry;
};

struct known_totals {
    struct known_total of[KNOWN_TOTALS];
    uint64_t window_begin, window_ticks; /* the current window of the course; 0 ticks: none yet */
    struct spool_window *window;
};
extern struct known_totals known_totals;

/* One call, or one operation. */
struct total_call {
    uint64_t site;
    uint64_t partner;
    uint64_t rest;
    uint64_t bytes;
    uint64_t begin_ticks;
    uint64_t ticks;
};

static inline uint64_t total_partner(uint32_t communicator, int32_t peer)
{
    return (uint64_t)communicator << 32 | (uint32_t)peer;
}

static inline uint64_t total_rest(enum mpistair_function function, uint64_t bytes, unsigned flags)
{
    return (uint64_t)function << 16 | (uint64_t)total_bin(bytes) << 8 | flags;
}

/* Returns TOTAL_OFF while recording is off, else 0. */
static inline unsigned total_off(void)
{
    return __atomic_load_n(&recorder.off, __ATOMIC_RELAXED) & SPOOL_OFF ? (unsigned)TOTAL_OFF : 0U;
}

/* Adds a call, by whatever thread. sent_bytes is what it sends for the course. */
void total_add_any(enum spool_window_family family, const struct total_call *one, uint64_t sent_bytes);

IN_WRAPPER void total_add(enum spool_window_family family, const struct total_call *one, uint64_t sent_bytes)
{
    uint64_t hash = (one->site ^ one->partner << 3 ^ one->rest) * UINT64_C(0x9e3779b97f4a7c15);
    struct known_total *known = &known_totals.of[hash >> 56];
    uint64_t end = one->begin_ticks - known_totals.window_begin + one->ticks;
    if (__builtin_expect(known->site != one->site || known->partner != one->partner || known->rest != one->rest ||
                             end >= known_totals.window_ticks || one->ticks > end,
                         0)) {
        const struct total_call copy = *one; /* so that *one need not be in memory */
        total_add_any(family, &copy, sent_bytes);
        return;
    }
    struct spool_total *entry = known->entry;
    struct spool_window *window = known_totals.window;
    if (__builtin_add_overflow(entry->bytes, one->bytes, &entry->bytes))
        entry->bytes = UINT64_MAX;
    entry->ticks += one->ticks;
    if (one->ticks > entry->longest_ticks)
        entry->longest_ticks = one->ticks;
    entry->calls++;
    window->ticks[family] += one->ticks;
    window->sent_bytes += sent_bytes;
    window->calls++;
}

/* Adds what a record of the caller's says. */
void total_add_record(const void *record);

/* Tests and probes without a result are counted, and few timed, as in records (timed_call.h). */

/* Returns the place of the row that a call goes on with; NULL: there is none. */
static inline struct idle_place *idle_place_find(struct recorder_thread *thread, enum mpistair_function function,
                                                 uint64_t site)
{
    for (unsigned i = thread->n_places; i-- > 0;)
        if (thread->places[i].site == site && thread->places[i].function == function)
            return &thread->places[i];
    return NULL;
}

/* Adds one that was timed. */
void total_timed_idle(const struct recorded_call *call, uint64_t end_ticks);

/* Ends the row of them: adds to the course those that were only counted. */
void total_end_row(struct recorder_thread *thread);

/* Adds a call without peer and bytes, or with a communicator alone. */
IN_WRAPPER void total_add_call(const struct recorded_call *call, enum mpistair_function function,
                               enum spool_window_family family, uint32_t communicator, uint64_t bytes,
                               uint64_t end_ticks)
{
    const struct total_call one = {.site = call->site,
                                   .partner = total_partner(communicator, TOTAL_NO_PEER),
                                   .rest = total_rest(function, bytes, total_off()),
                                   .bytes = bytes,
                                   .begin_ticks = call->begin_ticks,
                                   .ticks = end_ticks - call->begin_ticks};
    if (__builtin_expect(call->thread->n_places != 0, 0))
        total_end_row(call->thread);
    total_add(family, &one, 0);
}

/* Adds a test with a result, whose begin is not known where it follows others without one. */
void total_add_test(const struct recorded_call *call, uint64_t end_ticks);

#endif

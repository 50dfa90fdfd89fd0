/* A table of the thread's own finds the sums that go on. Where very many differ, first the targets are no longer told
 * apart, then the call sites. See sum.h. */
#include "interpose/backend/call/sum.h"

#include <errno.h>
#include <stdlib.h>

#include "interpose/backend/table/datatype.h"

enum { SLOTS = 512, MANY = 256, TOO_MANY = 384 };

/* No sum ends before so many ticks: a second of nanoseconds, less of a TSC. */
static const uint64_t LEAST_TICKS = UINT64_C(1) << 30;

struct sums {
    struct spool_sum *slots[SLOTS];
    unsigned n;
    uint32_t sequence;    /* sequence of the lane's chunk, as the lane counts them */
    uint32_t switched;    /* recorder.sums_ended */
    uint64_t until_ticks; /* they end */
};

static struct sums *sums_of(struct recorder_thread *thread)
{
    int saved_errno = errno;
    if (!thread->sums)
        thread->sums = calloc(1, sizeof *thread->sums);
    errno = saved_errno;
    return thread->sums;
}

static void start_anew(struct sums *sums, const struct recorded_call *call)
{
    uint64_t passed = call->begin_ticks - recorder.spool.header->start.ticks;
    memset(sums->slots, 0, sizeof sums->slots);
    sums->n = 0;
    sums->sequence = call->thread->lane->sequence;
    sums->switched = __atomic_load_n(&recorder.sums_ended, __ATOMIC_RELAXED);
    sums->until_ticks = call->begin_ticks + (passed / 64 > LEAST_TICKS ? passed / 64 : LEAST_TICKS);
}

static int is_over(const struct sums *sums, const struct recorded_call *call)
{
    return sums->sequence != call->thread->lane->sequence || call->begin_ticks >= sums->until_ticks ||
           sums->switched != __atomic_load_n(&recorder.sums_ended, __ATOMIC_RELAXED);
}

/* Returns where the sum of key is, or would be. */
static struct spool_sum **slot_of(struct sums *sums, const struct sum_key *key)
{
    uint64_t hash = (key->site ^ (uint64_t)key->communicator << 32 ^ (uint64_t)(uint32_t)key->target << 16 ^
                     key->function ^ (uint64_t)key->flags << 48) *
                    UINT64_C(0x9e3779b97f4a7c15);
    for (size_t at = hash >> 55;; at = (at + 1) % SLOTS) {
        const struct spool_sum *sum = sums->slots[at];
        if (!sum || (sum->site == key->site && sum->communicator == key->communicator && sum->target == key->target &&
                     sum->function == key->function && sum->flags == key->flags))
            return &sums->slots[at];
    }
}

/* Returns the sum of key, new or not; NULL if it is lost. */
static struct spool_sum *find(struct sums *sums, const struct recorded_call *call, struct sum_key key)
{
    struct spool_sum **slot = slot_of(sums, &key);
    if (!*slot && sums->n >= MANY) {
        key.target = -1;
        key.site = sums->n >= TOO_MANY ? 0 : key.site;
        slot = slot_of(sums, &key);
    }
    if (*slot)
        return *slot;
    struct spool_sum *sum = sums->n < SLOTS - 1 ? spool_lane_reserve(call->thread->lane, sizeof *sum) : NULL;
    if (!sum)
        return NULL;
    if (sums->sequence != call->thread->lane->sequence) { /* it opened a chunk */
        start_anew(sums, call);
        slot = slot_of(sums, &key);
    }
    sum->function = key.function;
    sum->communicator = key.communicator;
    sum->target = key.target;
    sum->flags = key.flags;
    sum->site = key.site;
    sum->begin_ticks = call->begin_ticks;
    *slot = sum;
    sums->n++;
    return sum;
}

void sum_add(const struct recorded_call *call, const struct sum_key *key, uint64_t bytes, uint64_t end_ticks)
{
    struct sums *sums = sums_of(call->thread);
    if (!sums) {
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
        return;
    }
    if (is_over(sums, call))
        start_anew(sums, call);
    struct spool_sum *sum = find(sums, call, *key);
    if (!sum)
        return;
    sum->calls++;
    sum->bytes = add_bytes(sum->bytes, bytes);
    sum->ticks += end_ticks - call->begin_ticks;
    sum->end_ticks = end_ticks;
    spool_record_publish(sum, SPOOL_SUM);
}

void sum_end_all(void)
{
    __atomic_add_fetch(&recorder.sums_ended, 1, __ATOMIC_RELAXED);
}

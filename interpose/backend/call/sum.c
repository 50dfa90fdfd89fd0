/* A table of the thread's own finds the sums that go on. Where very many differ, sums first ignore the target, then the
 * call site. See sum.h. */
#include "interpose/backend/call/sum.h"

#include "interpose/backend/table/datatype.h"

enum { SUM_SLOTS = 512, MANY = 256, TOO_MANY = 384 };

/* No sum ends before so many ticks: a second of nanoseconds, less of a TSC. */
static const uint64_t LEAST_TICKS = UINT64_C(1) << 30;

struct sums {
    struct spool_sum *slots[SUM_SLOTS];
    unsigned n;
    uint32_t sequence;    /* sequence of the lane's chunk, as the lane counts them */
    uint32_t switched;    /* recorder.sums_ended */
    uint64_t until_ticks; /* they end */
};

static struct sums *sums_of(struct recorder_thread *thread)
{
    if (!thread->sums)
        thread->sums = recorder_allocate(sizeof *thread->sums);
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
    for (size_t at = hash >> 55;; at = (at + 1) % SUM_SLOTS) {
        const struct spool_sum *sum = sums->slots[at];
        if (!sum || (sum->site == key->site && sum->communicator == key->communicator && sum->target == key->target &&
                     sum->function == key->function && sum->flags == key->flags))
            return &sums->slots[at];
    }
}

/* Returns the sum of key, new or not; NULL if it is lost. */
static struct spool_sum *find_sum_of_key(struct sums *sums, const struct recorded_call *call, struct sum_key key)
{
    struct spool_sum **slot = slot_of(sums, &key);
    if (!*slot && sums->n >= MANY) {
        key.target = -1;
        key.site = sums->n >= TOO_MANY ? 0 : key.site;
        slot = slot_of(sums, &key);
    }
    if (*slot)
        return *slot;
    struct spool_sum *sum = sums->n < SUM_SLOTS - 1 ? spool_lane_reserve(call->thread->lane, sizeof *sum) : NULL;
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
    struct spool_sum *sum = find_sum_of_key(sums, call, *key);
    if (!sum)
        return;
    sum->calls++;
    sum->bytes = add_bytes(sum->bytes, bytes);
    sum->ticks += end_ticks - call->begin_ticks;
    sum->end_ticks = end_ticks;
    spool_record_publish(sum, SPOOL_SUM);
}

/* A sum of unsuccessful tests goes on as long as it is the last record that its thread stored. So the time inside
 * MPI is known between any two other records, where rounds begin and end, however long a program polls. */

/* Calls from so many places make up one burst of sums; the last sum takes what comes from further ones. */
enum { IDLE_SITES = 8 };

/* Returns the sum of the call's place in the current burst; NULL if there is none yet. */
static struct spool_idle *find_idle(const struct recorded_call *call)
{
    struct recorder_thread *thread = call->thread;
    for (unsigned i = thread->n_idle; i-- > 0;)
        if (thread->idle[i].site == call->site && thread->idle[i].function == call->function)
            return &thread->idle[i];
    return thread->n_idle < IDLE_SITES ? NULL : &thread->idle[IDLE_SITES - 1];
}

/* Begins a sum behind those of the burst; returns NULL if it is lost. */
static struct spool_idle *begin_idle(const struct recorded_call *call)
{
    struct recorder_thread *thread = call->thread;
    struct spool_idle *sum = spool_lane_reserve(thread->lane, sizeof *sum);
    if (!sum)
        return NULL;
    if (thread->n_idle == 0 || sum != thread->idle + thread->n_idle) { /* the sum lies in a new chunk */
        thread->idle = sum;
        thread->idle_sequence = thread->lane->sequence;
        thread->n_idle = 0;
    }
    thread->n_idle++;
    sum->function = (uint16_t)call->function;
    sum->begin_ticks = call->begin_ticks;
    sum->site = thread->n_idle < IDLE_SITES ? call->site : 0;
    return sum;
}

void timed_call_idle(const struct recorded_call *call, uint64_t end_ticks)
{
    struct recorder_thread *thread = call->thread;
    if (__builtin_expect(__atomic_load_n(&recorder.off, __ATOMIC_RELAXED) != 0, 0)) {
        const struct sum_key key = sum_key_of(call);
        sum_add(call, &key, 0, end_ticks);
        return;
    }
    /* A later chunk may lie where that of the burst lay. */
    if (thread->n_idle > 0 && (thread->lane->sequence != thread->idle_sequence ||
                               thread->lane->next != (uint8_t *)(thread->idle + thread->n_idle)))
        thread->n_idle = 0; /* something else was stored */
    struct spool_idle *sum = find_idle(call);
    if (sum && sum->calls == UINT32_MAX) {
        thread->n_idle = 0;
        sum = NULL;
    }
    if (!sum)
        sum = begin_idle(call);
    if (!sum)
        return;
    sum->calls++;
    sum->ticks += end_ticks - call->begin_ticks;
    spool_record_publish(sum, SPOOL_IDLE);
}

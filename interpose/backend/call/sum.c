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

/* A row goes on as long as it is among the last records that its thread stored. So the time inside MPI is known between
 * any two other records, where rounds begin and end, however long a program polls. */

/* A row of more calls ends, so that its count does not overflow before the next call whose time is taken. */
#define ROW_CALLS_MAX (UINT32_MAX / 2)

struct spool_idle *idle_row_any(const struct recorder_thread *thread, enum mpistair_function function, uint64_t site)
{
    struct spool_idle *row = (struct spool_idle *)(void *)thread->idle_end;
    for (unsigned i = 0; i < thread->n_idle; i++)
        if (is_of_row(--row, function, site))
            return row;
    return NULL;
}

/* Begins a row behind the others; returns NULL if it is lost. */
static struct spool_idle *begin_row(const struct recorded_call *call)
{
    struct recorder_thread *thread = call->thread;
    struct spool_lane *lane = thread->lane;
    int goes_on = lane->next == thread->idle_end && lane->sequence == thread->idle_sequence;
    struct spool_idle *row = spool_lane_reserve(lane, sizeof *row);
    if (!row)
        return NULL;
    if (!goes_on || (uint8_t *)row != thread->idle_end) { /* in a new chunk */
        thread->idle_sequence = lane->sequence;
        thread->n_idle = 0;
    }
    thread->n_idle++;
    thread->idle_end = (uint8_t *)(row + 1);
    row->function = (uint16_t)call->function;
    row->begin_ticks = call->begin_ticks;
    row->site = thread->n_idle < IDLE_ROWS ? call->site : 0;
    return row;
}

void timed_call_idle(const struct recorded_call *call, uint64_t end_ticks)
{
    struct recorder_thread *thread = call->thread;
    uint64_t begin_ticks = call->begin_ticks != 0 ? call->begin_ticks : end_ticks, ticks = end_ticks - begin_ticks;
    struct recorded_call timed = *call;
    timed.begin_ticks = begin_ticks;
    if (__builtin_expect(__atomic_load_n(&recorder.off, __ATOMIC_RELAXED) != 0, 0)) {
        const struct sum_key key = sum_key_of(call);
        sum_add(&timed, &key, 0, end_ticks);
        return;
    }
    struct spool_idle *row = idle_row(thread, call->function, call->site);
    if (!row && thread->n_idle == IDLE_ROWS && thread->lane->next == thread->idle_end &&
        thread->lane->sequence == thread->idle_sequence)
        row = (struct spool_idle *)(void *)thread->idle_end - 1;
    if (row && row->calls < ROW_CALLS_MAX) {
        row->ticks += ticks;
        row->square += (double)ticks * (double)ticks;
        row->timed++;
        row->calls++;
        return;
    }
    if (row)
        thread->idle_end = NULL;
    row = begin_row(&timed);
    if (!row)
        return;
    row->first_ticks = ticks;
    row->calls = 1;
    spool_record_publish(row, SPOOL_IDLE);
}

void untimed_call_store(const struct recorded_call *call, uint32_t completed, uint64_t end_ticks)
{
    struct recorded_call timed = *call;
    const struct spool_idle *row = call->row;
    timed.begin_ticks = end_ticks;
    if (call->thread->lane->sequence == call->thread->idle_sequence) {
        uint64_t ticks = row->timed > 0 ? row->ticks / row->timed : row->first_ticks;
        uint64_t earliest = row->begin_ticks + row->first_ticks;
        timed.begin_ticks = end_ticks - ticks > earliest && ticks < end_ticks ? end_ticks - ticks : earliest;
    }
    timed_call_store_as(&timed, completed, end_ticks, 1);
}

/* Sums unsuccessful tests and probes. A sum goes on as long as it is the last record that its thread stored. So the
 * time inside MPI is known between any two other records, where rounds begin and end, however long a program polls. */
#include "interpose/backend/call/timed_call.h"

/* Calls from so many places make up one burst of sums; the last sum takes what comes from further ones. */
enum { IDLE_SITES = 8 };

/* Returns the sum of the call's place in the current burst; NULL if there is none yet. */
static struct spool_idle *find_sum(const struct recorded_call *call)
{
    struct recorder_thread *thread = call->thread;
    for (unsigned i = thread->n_idle; i-- > 0;)
        if (thread->idle[i].site == call->site && thread->idle[i].function == call->function)
            return &thread->idle[i];
    return thread->n_idle < IDLE_SITES ? NULL : &thread->idle[IDLE_SITES - 1];
}

/* Begins a sum behind those of the burst; returns NULL if it is lost. */
static struct spool_idle *begin_sum(const struct recorded_call *call)
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
    struct spool_idle *sum = find_sum(call);
    if (sum && sum->calls == UINT32_MAX) {
        thread->n_idle = 0;
        sum = NULL;
    }
    if (!sum)
        sum = begin_sum(call);
    if (!sum)
        return;
    sum->calls++;
    sum->ticks += end_ticks - call->begin_ticks;
    spool_record_publish(sum, SPOOL_IDLE);
}

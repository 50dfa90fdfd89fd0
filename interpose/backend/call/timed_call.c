/* Rows of unsuccessful tests: see timed_call.h. */
#include "interpose/backend/call/timed_call.h"

void timed_call_sum(const struct recorded_call *call, uint64_t end_ticks)
{
    total_add_call(call, call->function, WINDOW_WAIT, SPOOL_NO_COMMUNICATOR, 0, end_ticks);
}

/* A row goes on as long as it is among the last records that its thread stored. So the time inside MPI is known between
 * any two other records, where rounds begin and end, however long a program polls. */

/* A row of more calls ends, so that its count does not overflow before the next call whose time is taken. */
#define ROW_CALLS_MAX (UINT32_MAX / 2)

struct spool_idle *idle_row(const struct recorder_thread *thread, enum mpistair_function function, uint64_t site)
{
    struct spool_idle *row = idle_row_newest(thread);
    for (unsigned i = 0; row && i < thread->n_idle; i++, row--)
        if (is_of_row(row, function, site))
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
        total_timed_idle(&timed, end_ticks);
        return;
    }
    struct spool_idle *row = idle_row(thread, call->function, call->site);
    if (!row && thread->idle_end && thread->n_idle == IDLE_ROWS && thread->lane->next == thread->idle_end &&
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
    const struct spool_idle *row = call->row, *newest = (const void *)call->thread->idle_end;
    timed.begin_ticks = end_ticks;
    if (call->thread->lane->sequence == call->thread->idle_sequence) {
        uint64_t ticks = row->timed > 0 ? row->ticks / row->timed : row->first_ticks;
        uint64_t earliest = row->begin_ticks + row->first_ticks;
        if (newest && newest[-1].begin_ticks + newest[-1].first_ticks > earliest)
            earliest = newest[-1].begin_ticks + newest[-1].first_ticks;
        timed.begin_ticks = end_ticks - ticks > earliest && ticks < end_ticks ? end_ticks - ticks : earliest;
    }
    timed_call_store_as(&timed, completed, end_ticks, 1);
}

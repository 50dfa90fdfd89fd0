/* An operation is background if it is pending
 *  - across a synchronising collective, or
 *  - across two completed sets of others: twice everything that was posted after it had completed, a receive among it,
 *    when the rank went on to post.
 *
 * For the second rule, posts are counted in bursts (posts with no completion in between). At each end of a run of
 * completions the youngest burst that has something pending has seen a set complete, if a receive of a younger burst
 * was in it. Elder bursts wait until the younger are complete or background. A blocking receive is a burst and a set by
 * itself; a blocking send is only a post. Sets of sends alone do not count: a rank that sends one by one, with its
 * receives posted before, is in the middle of one exchange. */
#include "interpose/trace/stream/background.h"

#include <stdlib.h>

#include "share/base/array.h"

struct burst {
    uint32_t number;
    uint32_t first;   /* pending operation, linked through burst_next */
    uint32_t pending; /* how many */
    uint32_t crossed; /* completed sets of others */
};

/* Makes everything pending of a burst background. */
static void mark_burst(struct trace *trace, struct burst *burst)
{
    for (uint32_t i = burst->first; i != TRACE_NONE; i = trace->operations[i].burst_next) {
        struct trace_operation *operation = &trace->operations[i];
        operation->background = operation->settled = true;
        operation->burst = TRACE_NONE;
    }
    burst->first = TRACE_NONE;
    burst->pending = 0;
}

/* Ends the set: the rank posts again after completions. */
static void end_set(struct background *work, struct trace *trace)
{
    while (work->depth > 0 && work->bursts[work->depth - 1].pending == 0)
        work->depth--;
    if (work->depth > 0 && work->received > 0) {
        struct burst *youngest = &work->bursts[work->depth - 1];
        if (work->received - 1 > youngest->number && ++youngest->crossed == 2)
            mark_burst(trace, youngest);
    }
    work->completing = false;
    work->received = 0;
    work->n_bursts++;
}

/* Returns the burst to which posts belong now. */
static struct burst *current_burst(struct background *work)
{
    uint32_t number = work->n_bursts - 1;
    if (work->depth > 0 && work->bursts[work->depth - 1].number == number)
        return &work->bursts[work->depth - 1];
    /* Where the array would have to grow, bursts that are over are left out. */
    if (work->depth == work->capacity) {
        size_t kept = 0;
        for (size_t i = 0; i < work->depth; i++)
            if (work->bursts[i].pending > 0)
                work->bursts[kept++] = work->bursts[i];
        work->depth = kept;
    }
    array_reserve(&work->bursts, &work->capacity, work->depth + 1, sizeof *work->bursts);
    work->bursts[work->depth] = (struct burst){.number = number, .first = TRACE_NONE};
    return &work->bursts[work->depth++];
}

/* Returns the burst of that number among those that have something pending. */
static struct burst *find_burst(struct background *work, uint32_t number)
{
    size_t low = 0, high = work->depth - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (work->bursts[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return &work->bursts[low];
}

void background_post(struct background *work, struct trace *trace, uint32_t index)
{
    if (work->completing || work->n_bursts == 0)
        end_set(work, trace);
    struct burst *burst = current_burst(work);
    struct trace_operation *operation = &trace->operations[index];
    operation->burst = burst->number;
    operation->burst_next = burst->first;
    operation->burst_previous = TRACE_NONE;
    if (burst->first != TRACE_NONE)
        trace->operations[burst->first].burst_previous = index;
    burst->first = index;
    burst->pending++;
}

void background_complete(struct background *work, struct trace *trace, uint32_t index)
{
    struct trace_operation *operation = &trace->operations[index];
    if (operation->burst != TRACE_NONE) {
        struct burst *burst = find_burst(work, operation->burst);
        if (operation->burst_next != TRACE_NONE)
            trace->operations[operation->burst_next].burst_previous = operation->burst_previous;
        if (operation->burst_previous != TRACE_NONE)
            trace->operations[operation->burst_previous].burst_next = operation->burst_next;
        else
            burst->first = operation->burst_next;
        burst->pending--;
        if (operation->direction == SPOOL_RECEIVE && operation->burst + 1 > work->received)
            work->received = operation->burst + 1;
        operation->burst = TRACE_NONE;
        operation->settled = true;
    }
    work->completing = true;
}

void background_blocking(struct background *work, struct trace *trace, uint32_t index)
{
    struct trace_operation *operation = &trace->operations[index];
    if (work->completing || work->n_bursts == 0)
        end_set(work, trace);
    operation->settled = true;
    if (operation->direction == SPOOL_RECEIVE) {
        work->completing = true;
        work->received = work->n_bursts;
    }
}

void background_collective(struct background *work, struct trace *trace)
{
    for (size_t i = 0; i < work->depth; i++)
        mark_burst(trace, &work->bursts[i]);
    work->depth = 0;
}

void background_release(struct background *work)
{
    free(work->bursts);
    *work = (struct background){0};
}

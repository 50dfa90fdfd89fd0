/* An operation is background if it is pending
 *  - across a synchronising collective, or
 *  - across two completed sets of others: twice, everything that was posted after it had completed, a receive among it,
 *    when the rank went on to post.
 *
 * For the second, posts are counted in bursts (posts with no completion in between). At each end of a run of
 * completions the youngest burst that has something pending has seen a set complete, if a receive of a younger burst
 * was in it. Elder bursts wait until the younger are complete or background. A blocking receive is a burst and a set by
 * itself; a blocking send is only a post. Sets of sends alone do not count: a rank that sends one by one, its receives
 * posted before, is in the middle of one exchange.
 */
#include "background.h"

#include <stdlib.h>
#include <string.h>

struct burst {
    uint32_t first; /* operation; the next burst's first ends it */
    uint32_t pending;
    uint32_t crossed; /* completed sets of others */
};

void background_release(struct background *work)
{
    free(work->next);
    free(work->previous);
    free(work->burst_of);
    free(work->bursts);
    free(work->stack);
    *work = (struct background){0};
}

static int reserve(struct background *work, size_t n)
{
    if (n + 2 <= work->capacity)
        return 0;
    background_release(work);
    work->capacity = n + 2;
    work->next = malloc(work->capacity * sizeof *work->next);
    work->previous = malloc(work->capacity * sizeof *work->previous);
    work->burst_of = malloc(work->capacity * sizeof *work->burst_of);
    work->bursts = malloc(work->capacity * sizeof *work->bursts);
    work->stack = malloc(work->capacity * sizeof *work->stack);
    if (work->next != NULL && work->previous != NULL && work->burst_of != NULL && work->bursts != NULL &&
        work->stack != NULL)
        return 0;
    background_release(work);
    return -1;
}

void pending_clear(struct background *work)
{
    work->next[0] = work->previous[0] = 0;
}

void pending_add(struct background *work, uint32_t operation)
{
    uint32_t entry = operation + 1, last = work->previous[0];
    work->next[entry] = 0;
    work->previous[entry] = last;
    work->next[last] = work->previous[0] = entry;
}

void pending_remove(struct background *work, uint32_t operation)
{
    uint32_t entry = operation + 1;
    work->next[work->previous[entry]] = work->next[entry];
    work->previous[work->next[entry]] = work->previous[entry];
}

struct finder {
    struct background *work;
    bool *background;
    uint32_t n_bursts;
    size_t depth;      /* of work->stack */
    uint32_t received; /* youngest burst of which a receive completed in this set, + 1; 0: none */
    bool completing;
};

static void begin_burst(struct finder *finder, uint32_t operation)
{
    finder->work->bursts[finder->n_bursts++] = (struct burst){.first = operation};
}

/* The rank posts again after completions. */
static void end_set(struct finder *finder, uint32_t operation)
{
    struct background *work = finder->work;
    while (finder->depth > 0 && work->bursts[work->stack[finder->depth - 1]].pending == 0)
        finder->depth--;
    if (finder->depth > 0 && finder->received > 0) {
        uint32_t youngest = work->stack[finder->depth - 1];
        if (finder->received - 1 > youngest && ++work->bursts[youngest].crossed == 2) {
            uint32_t end = work->bursts[youngest + 1].first; /* there is a younger one: it was received from */
            for (uint32_t i = work->bursts[youngest].first; i < end; i++)
                if (work->burst_of[i] == youngest) {
                    finder->background[i] = true;
                    pending_remove(work, i);
                }
            work->bursts[youngest].pending = 0;
        }
    }
    finder->completing = false;
    finder->received = 0;
    begin_burst(finder, operation);
}

static void complete(struct finder *finder, uint32_t operation, bool receive)
{
    struct background *work = finder->work;
    uint32_t burst = work->burst_of[operation];
    if (burst != TRACE_NONE && !finder->background[operation]) {
        work->bursts[burst].pending--;
        work->burst_of[operation] = TRACE_NONE;
        pending_remove(work, operation);
        if (receive && burst + 1 > finder->received)
            finder->received = burst + 1;
    }
    finder->completing = true;
}

static void post(struct finder *finder, uint32_t operation)
{
    struct background *work = finder->work;
    uint32_t burst = finder->n_bursts - 1;
    work->burst_of[operation] = burst;
    if (work->bursts[burst].pending++ == 0 && (finder->depth == 0 || work->stack[finder->depth - 1] != burst))
        work->stack[finder->depth++] = burst;
    pending_add(work, operation);
}

int background_find(struct background *work, const struct timeline *timeline, const struct trace *trace, size_t first,
                    size_t n, bool *background)
{
    if (reserve(work, n) != 0)
        return -1;
    memset(background, 0, n * sizeof *background);
    memset(work->burst_of, 0xff, n * sizeof *work->burst_of);
    pending_clear(work);
    struct finder finder = {.work = work, .background = background};
    for (size_t i = 0; i < timeline->n_events; i++) {
        const struct timeline_event *event = &timeline->events[i];
        uint32_t operation = event->kind == EVENT_COLLECTIVE ? 0 : (uint32_t)(event->index - first);
        bool receive = event->kind != EVENT_COLLECTIVE && trace->operations[event->index].direction == SPOOL_RECEIVE;
        if (event->kind == EVENT_POST || event->kind == EVENT_BLOCKING) {
            if (finder.completing || finder.n_bursts == 0)
                end_set(&finder, operation);
        }
        if (event->kind == EVENT_POST) {
            post(&finder, operation);
        } else if (event->kind == EVENT_COMPLETE) {
            complete(&finder, operation, receive);
        } else if (event->kind == EVENT_BLOCKING && receive) {
            finder.completing = true;
            finder.received = finder.n_bursts;
        } else if (event->kind == EVENT_COLLECTIVE) {
            while (work->next[0] != 0) {
                uint32_t crossing = work->next[0] - 1;
                background[crossing] = true;
                work->bursts[work->burst_of[crossing]].pending--;
                work->burst_of[crossing] = TRACE_NONE;
                pending_remove(work, crossing);
            }
        }
    }
    return 0;
}

#include "timeline.h"

#include <stdlib.h>

bool collective_bounds(const struct trace_collective *collective)
{
    if (collective->flags & SPOOL_NONBLOCKING)
        return false;
    switch (collective->function) {
    case FN_Pcontrol: /* 0, 1 and 2 switch recording off, on, and flush */
        return collective->root < 0 || collective->root > 2;
    case FN_Comm_idup:
    case FN_Comm_idup_with_info:
        return false;
    case FN_Barrier:
    case FN_Allgather:
    case FN_Allgather_c:
    case FN_Allgatherv:
    case FN_Allgatherv_c:
    case FN_Allreduce:
    case FN_Allreduce_c:
    case FN_Alltoall:
    case FN_Alltoall_c:
    case FN_Alltoallv:
    case FN_Alltoallv_c:
    case FN_Alltoallw:
    case FN_Alltoallw_c:
    case FN_Reduce_scatter:
    case FN_Reduce_scatter_c:
    case FN_Reduce_scatter_block:
    case FN_Reduce_scatter_block_c:
        return true;
    default:
        return function_family(collective->function) == FAMILY_COMM_CREATE;
    }
}

static int compare_events(const void *left, const void *right)
{
    const struct timeline_event *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int reserve(struct timeline *timeline, size_t n)
{
    if (n <= timeline->capacity)
        return 0;
    struct timeline_event *events = malloc(n * sizeof *events);
    struct timeline_event *completions = malloc(n * sizeof *completions);
    if (events == NULL || completions == NULL) {
        free(events);
        free(completions);
        return -1;
    }
    timeline_release(timeline);
    *timeline = (struct timeline){.events = events, .completions = completions, .capacity = n};
    return 0;
}

/* Completions of what is not blocking, in the order of time; an operation never completes before it was posted. */
static size_t sort_completions(const struct trace *trace, size_t first, size_t end, struct timeline_event *completions)
{
    size_t n = 0;
    bool sorted = true;
    for (size_t i = first; i < end; i++) {
        const struct trace_operation *operation = &trace->operations[i];
        if ((operation->flags & (SPOOL_BLOCKING | SPOOL_OFF)) || operation->complete_ns == TRACE_NO_TIME)
            continue;
        int64_t at_ns = operation->complete_ns > operation->post_ns ? operation->complete_ns : operation->post_ns + 1;
        sorted = sorted && (n == 0 || completions[n - 1].at_ns <= at_ns);
        completions[n++] = (struct timeline_event){at_ns, (uint32_t)i, EVENT_COMPLETE};
    }
    if (!sorted)
        qsort(completions, n, sizeof *completions, compare_events);
    return n;
}

/* Whether the operation holds no step open beyond its call: of a freed request nobody waits for the end. */
static bool is_blocking(const struct trace_operation *operation)
{
    return (operation->flags & SPOOL_BLOCKING) ||
           ((operation->flags & SPOOL_FREED) && operation->complete_ns == TRACE_NO_TIME);
}

int timeline_fill(struct timeline *timeline, const struct trace *trace, uint32_t rank)
{
    const struct trace_process *process = &trace->processes[rank];
    size_t post = process->first_operation, post_end = process[1].first_operation;
    size_t collective = process->first_collective, collective_end = process[1].first_collective;
    if (reserve(timeline, 2 * (post_end - post) + (collective_end - collective) + 1) != 0)
        return -1;
    const struct timeline_event *completion = timeline->completions;
    const struct timeline_event *completion_end =
        completion + sort_completions(trace, post, post_end, timeline->completions);
    timeline->n_events = 0;
    while (post < post_end || collective < collective_end || completion < completion_end) {
        if (post < post_end && (trace->operations[post].flags & SPOOL_OFF)) {
            post++;
            continue;
        }
        int64_t post_ns = post < post_end ? trace->operations[post].post_ns : INT64_MAX;
        int64_t collective_ns = collective < collective_end ? trace->collectives[collective].begin_ns : INT64_MAX;
        struct timeline_event *event = &timeline->events[timeline->n_events];
        if (completion < completion_end && completion->at_ns <= post_ns && completion->at_ns <= collective_ns) {
            *event = *completion++;
        } else if (collective < collective_end && collective_ns <= post_ns) {
            *event = (struct timeline_event){collective_ns, (uint32_t)collective, EVENT_COLLECTIVE};
            if (!collective_bounds(&trace->collectives[collective++]))
                continue;
        } else {
            bool blocking = is_blocking(&trace->operations[post]);
            *event = (struct timeline_event){post_ns, (uint32_t)post++, blocking ? EVENT_BLOCKING : EVENT_POST};
        }
        timeline->n_events++;
    }
    return 0;
}

void timeline_release(struct timeline *timeline)
{
    free(timeline->events);
    free(timeline->completions);
    *timeline = (struct timeline){0};
}

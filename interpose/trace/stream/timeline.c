/* Posts must wait until it is known whether they are background, and completions until the reading has come to their
 * time: hence a queue that is filled and emptied at different paces, and a heap of what is due. */
#include "interpose/trace/stream/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"

void timeline_add(struct timeline *timeline, struct timeline_event event)
{
    if (timeline->first + timeline->n_events == timeline->capacity) {
        /* Room in front is used again once it is half of all, so that each event is moved once at most. */
        if (timeline->first > timeline->n_events) {
            memmove(timeline->events, timeline->events + timeline->first, timeline->n_events * sizeof event);
            timeline->first = 0;
        } else {
            array_reserve(&timeline->events, &timeline->capacity, timeline->capacity + 1, sizeof event);
        }
    }
    timeline->events[timeline->first + timeline->n_events++] = event;
}

const struct timeline_event *timeline_at(const struct timeline *timeline, size_t i)
{
    return i < timeline->n_events ? &timeline->events[timeline->first + i] : NULL;
}

void timeline_take(struct timeline *timeline)
{
    timeline->first++;
    if (--timeline->n_events == 0)
        timeline->first = 0;
}

static bool is_before(const struct timeline_due *a, const struct timeline_due *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->sequence < b->sequence;
}

void timeline_expect(struct timeline *timeline, struct timeline_due due)
{
    array_reserve(&timeline->due, &timeline->due_capacity, timeline->n_due + 1, sizeof *timeline->due);
    struct timeline_due *heap = timeline->due;
    size_t at = timeline->n_due++;
    for (; at > 0 && is_before(&due, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = due;
}

void timeline_arrived(struct timeline *timeline)
{
    struct timeline_due *heap = timeline->due;
    struct timeline_due last = heap[--timeline->n_due];
    size_t at = 0, n = timeline->n_due;
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
}

void timeline_release(struct timeline *timeline)
{
    free(timeline->events);
    free(timeline->due);
    *timeline = (struct timeline){0};
}

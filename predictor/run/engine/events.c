/* A heap whose identifiers hold the number and the kind of an event, so that an entry takes 16 bytes. See events.h. */
#include "predictor/run/engine/events.h"

#include <stdlib.h>

#include "share/base/array.h"

void events_release(struct events *events)
{
    free(events->heap.entries);
}

void events_schedule(struct events *events, double at_s, unsigned kind, uint32_t number)
{
    array_reserve(&events->heap.entries, &events->room, events->heap.n + 1, sizeof *events->heap.entries);
    heap_push(&events->heap, at_s, number * EVENT_MAX_KINDS + kind);
}

void events_handle_next(struct events *events, struct simulation *sim)
{
    uint32_t id = heap_pop(&events->heap).id;
    events->handlers[id % EVENT_MAX_KINDS](sim, id / EVENT_MAX_KINDS);
}

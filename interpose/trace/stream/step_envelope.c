/* Envelopes as a rank posted them (direction, communicator, peer and tag, wildcards as such): those that completed in
 * the step that is open, by which step.c sees that an exchange has begun anew; and those that stand, whose receives are
 * posted anew as soon as one completed.
 */
#include "interpose/trace/stream/step_envelope.h"

#include "share/base/array.h"

/* A map that grew beyond this is given back rather than cleared. */
enum { MAP_KEPT = 1024 };

static struct map_key envelope_as_posted(const struct trace_operation *operation)
{
    int32_t peer = operation->flags & SPOOL_ANY_SOURCE ? SPOOL_ANY : operation->peer;
    int32_t tag = operation->flags & SPOOL_ANY_TAG ? SPOOL_ANY : operation->tag;
    return (struct map_key){(uint64_t)(uint32_t)peer << 32 | (uint32_t)tag, operation->communicator,
                            operation->direction};
}

int step_note_completed(struct stepper *stepper, const struct trace_operation *operation)
{
    if (array_reserve(&stepper->completed, &stepper->completed_capacity, stepper->n_completed + 1,
                      sizeof *stepper->completed) != 0)
        return -1;
    stepper->completed[stepper->n_completed++] = envelope_as_posted(operation);
    return 0;
}

void step_forget_completed(struct stepper *stepper)
{
    stepper->n_completed = stepper->n_known = 0;
    if (stepper->envelopes.capacity > MAP_KEPT)
        map_release(&stepper->envelopes);
    map_clear(&stepper->envelopes);
}

int step_repeats(struct stepper *stepper, const struct trace *trace, const struct timeline *timeline, bool all)
{
    for (; stepper->n_known < stepper->n_completed; stepper->n_known++) {
        uint32_t *known = map_at(&stepper->envelopes, stepper->completed[stepper->n_known]);
        if (known == NULL)
            return -1;
        *known = 1;
    }
    const struct timeline_event *event;
    for (size_t i = 0; (event = timeline_at(timeline, i)) != NULL; i++) {
        if (event->kind == EVENT_CALL)
            continue;
        if (event->kind != EVENT_POST && event->kind != EVENT_BLOCKING)
            return 0;
        if (map_find(&stepper->envelopes, envelope_as_posted(&trace->operations[event->index])) != MAP_ABSENT)
            return 1;
    }
    return all ? 0 : 2;
}

static int note_standing(struct stepper *stepper, struct map_key envelope)
{
    uint32_t *known = map_at(&stepper->standing, envelope);
    if (known == NULL)
        return -1;
    *known = 1;
    return 0;
}

int step_note_standing(struct stepper *stepper, const struct trace_operation *operation)
{
    return note_standing(stepper, envelope_as_posted(operation));
}

int step_note_all_standing(struct stepper *stepper)
{
    for (size_t i = 0; i < stepper->n_completed; i++)
        if (stepper->completed[i].c == SPOOL_RECEIVE && note_standing(stepper, stepper->completed[i]) != 0)
            return -1;
    return 0;
}

bool step_is_standing(const struct stepper *stepper, const struct trace_operation *operation)
{
    return operation->direction == SPOOL_RECEIVE && stepper->standing.n_entries > 0 &&
           map_find(&stepper->standing, envelope_as_posted(operation)) != MAP_ABSENT;
}

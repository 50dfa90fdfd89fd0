/* Keeps envelopes as a rank posted them (direction, communicator, peer and tag, wildcards as such). From those that
 * completed in the open step, step.c sees that an exchange has begun anew. Those that stand have receives that are
 * posted anew as soon as one completed. */
#include "interpose/trace/stream/step_envelope.h"

#include <stdlib.h>

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

void step_envelopes_release(struct step_envelopes *envelopes)
{
    free(envelopes->completed);
    map_release(&envelopes->known);
    map_release(&envelopes->standing);
    *envelopes = (struct step_envelopes){0};
}

void step_note_completed(struct step_envelopes *envelopes, const struct trace_operation *operation)
{
    array_reserve(&envelopes->completed, &envelopes->completed_capacity, envelopes->n_completed + 1,
                  sizeof *envelopes->completed);
    envelopes->completed[envelopes->n_completed++] = envelope_as_posted(operation);
}

void step_forget_completed(struct step_envelopes *envelopes)
{
    envelopes->n_completed = envelopes->n_known = 0;
    if (envelopes->known.capacity > MAP_KEPT)
        map_release(&envelopes->known);
    map_clear(&envelopes->known);
}

enum step_answer step_repeats(struct step_envelopes *envelopes, const struct trace *trace,
                              const struct timeline *timeline, bool all)
{
    for (; envelopes->n_known < envelopes->n_completed; envelopes->n_known++)
        *map_at(&envelopes->known, envelopes->completed[envelopes->n_known]) = 1;
    const struct timeline_event *event;
    for (size_t i = 0; (event = timeline_at(timeline, i)) != NULL; i++) {
        if (event->kind == EVENT_CALL)
            continue;
        if (event->kind != EVENT_POST && event->kind != EVENT_BLOCKING)
            return STEP_NO;
        if (map_find(&envelopes->known, envelope_as_posted(&trace->operations[event->index])) != MAP_ABSENT)
            return STEP_YES;
    }
    return all ? STEP_NO : STEP_NOT_KNOWN;
}

void step_note_standing(struct step_envelopes *envelopes, const struct trace_operation *operation)
{
    *map_at(&envelopes->standing, envelope_as_posted(operation)) = 1;
}

void step_note_all_standing(struct step_envelopes *envelopes)
{
    for (size_t i = 0; i < envelopes->n_completed; i++)
        if (envelopes->completed[i].c == SPOOL_RECEIVE)
            *map_at(&envelopes->standing, envelopes->completed[i]) = 1;
}

bool step_is_standing(const struct step_envelopes *envelopes, const struct trace_operation *operation)
{
    return operation->direction == SPOOL_RECEIVE && envelopes->standing.n_entries > 0 &&
           map_find(&envelopes->standing, envelope_as_posted(operation)) != MAP_ABSENT;
}

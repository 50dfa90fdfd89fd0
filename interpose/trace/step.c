/* A step of a rank is what T Algorithm 2 does once: post, then wait. It opens with the first post while nothing is
 * pending and is over when nothing is pending any more, that is, at the next post. A blocking call by itself is a step
 * of one operation (Sendrecv: of two): the next one cannot begin before it, so they do not compete; inside an open step
 * it is one more operation of it. What is pending in the background (background.c) holds no step open.
 *
 * Programs that post for the next step before they have waited for all of this one would have a single step from end to
 * end. A step ends with operations still pending, when the rank goes on to post after completions, if
 *  - the last of them were reported by MPI_Wait, MPI_Waitall or MPI_Mrecv, which leave nothing of what they were given,
 * and a receive was among those completed in the step, or no receive is pending: what is left was posted ahead
 *    (double-buffered halos), or is a send that will be waited for later; or
 *  - it now posts an envelope (direction, communicator, peer and tag as posted) that completed in this very step:
 *    the exchange has begun anew, however it is waited for.
 * Then the pending receives are background, and the pending sends stay where they were posted. Both look at what the
 * program wrote, not at how long anything took, so that repetitions of one exchange come out alike. A Waitany loop that
 * forwards what it gets, MPI_Test between posts, sends through a window of requests are none of these: one step.
 *
 * A background operation belongs to the step in which it completes: one that is open, or is over and completions by
 * MPI_Wait(all) follow without a post. Else its completion is a step of its own, from the begin of the call that
 * reported it: a master's receives in an MPI_Waitany loop. Such a receive, posted anew, is background from the start.
 */
#include "step.h"

#include <stdlib.h>

#include "background.h"
#include "map.h"
#include "timeline.h"

struct stepper {
    struct trace *trace;
    struct timeline timeline;
    struct background work;
    bool *background;     /* [operations of the rank] */
    uint32_t *completed;  /* [operations of the rank] in the order of completion, of the present step */
    size_t n_completed;   /* of the present step */
    size_t n_known;       /* of them, in the map */
    struct map envelopes; /* as posted -> step in which one completed last */
    struct map standing;  /* envelopes as posted whose receives are posted anew as soon as one completed */
    size_t first;         /* operation of the rank */
    size_t call;          /* the completion call that is current */
    uint32_t rank;
    uint32_t step; /* open or over, TRACE_NONE: none */
    uint32_t epoch;
    size_t pending; /* operations that hold the step open */
    size_t pending_receives;
    size_t opened_by;    /* call, of a step that began with a background completion; else SIZE_MAX */
    int64_t blocking_ns; /* post of the last blocking call, whose second half may follow */
    bool completing;
    bool received; /* a receive completed in this step */
    bool waited;   /* the last completion was reported by Wait or Waitall */
};

static int open_step(struct stepper *stepper, int64_t begin_ns)
{
    struct trace *trace = stepper->trace;
    struct trace_step *grown = trace_grow(trace->steps, trace->n_steps, sizeof *grown);
    if (grown == NULL || trace->n_steps >= TRACE_NONE)
        return -1;
    trace->steps = grown;
    stepper->step = (uint32_t)trace->n_steps++;
    trace->steps[stepper->step] = (struct trace_step){
        .begin_ns = begin_ns, .end_ns = begin_ns, .rank = stepper->rank, .epoch = stepper->epoch, .round = TRACE_NONE};
    stepper->received = stepper->completing = stepper->waited = false;
    stepper->n_completed = stepper->n_known = 0;
    stepper->opened_by = SIZE_MAX;
    stepper->blocking_ns = TRACE_NO_TIME;
    return 0;
}

/* Ends the step with whatever is pending: receives become background, sends keep the step that they have. */
static void cut_step(struct stepper *stepper)
{
    struct background *work = &stepper->work;
    while (work->next[0] != 0) {
        uint32_t left = work->next[0] - 1;
        struct trace_operation *operation = &stepper->trace->operations[stepper->first + left];
        stepper->background[left] = true;
        if (operation->direction == SPOOL_RECEIVE)
            operation->step = TRACE_NONE;
        pending_remove(work, left);
    }
    stepper->pending = stepper->pending_receives = 0;
    stepper->step = TRACE_NONE;
}

static struct map_key envelope_as_posted(const struct trace_operation *operation)
{
    int32_t peer = operation->flags & SPOOL_ANY_SOURCE ? SPOOL_ANY : operation->peer;
    int32_t tag = operation->flags & SPOOL_ANY_TAG ? SPOOL_ANY : operation->tag;
    return (struct map_key){(uint64_t)(uint32_t)peer << 32 | (uint32_t)tag, operation->communicator,
                            operation->direction};
}

/* Whether one of the posts from this event to the next completion repeats an envelope that completed in this step.
 * The map is only kept up where somebody asks: 1 yes, 0 no, -1 no memory. */
static int repeats(struct stepper *stepper, size_t event)
{
    const struct trace *trace = stepper->trace;
    for (; stepper->n_known < stepper->n_completed; stepper->n_known++) {
        const struct trace_operation *operation = &trace->operations[stepper->completed[stepper->n_known]];
        uint32_t *step = map_at(&stepper->envelopes, envelope_as_posted(operation));
        if (step == NULL)
            return -1;
        *step = stepper->step;
    }
    const struct timeline *timeline = &stepper->timeline;
    for (; event < timeline->n_events; event++) {
        if (timeline->events[event].kind != EVENT_POST && timeline->events[event].kind != EVENT_BLOCKING)
            return 0;
        const struct trace_operation *operation = &trace->operations[timeline->events[event].index];
        if (map_find(&stepper->envelopes, envelope_as_posted(operation)) == stepper->step)
            return 1;
    }
    return 0;
}

static int note_standing(struct stepper *stepper, const struct trace_operation *operation)
{
    uint32_t *known = map_at(&stepper->standing, envelope_as_posted(operation));
    if (known == NULL)
        return -1;
    *known = 1;
    return 0;
}

/* Before a post: ends the step if it is over, or if what is pending was posted ahead. */
static int end_step(struct stepper *stepper, size_t event)
{
    if (stepper->step == TRACE_NONE)
        return 0;
    bool cut = stepper->pending == 0;
    if (!cut && stepper->completing) {
        cut = stepper->waited && (stepper->received || stepper->pending_receives == 0);
        int repeated = cut ? 0 : repeats(stepper, event);
        if (repeated < 0)
            return -1;
        cut = cut || repeated == 1;
        for (size_t i = 0; repeated == 1 && i < stepper->n_completed; i++) {
            const struct trace_operation *operation = &stepper->trace->operations[stepper->completed[i]];
            if (operation->direction == SPOOL_RECEIVE && note_standing(stepper, operation) != 0)
                return -1;
        }
    }
    if (cut)
        cut_step(stepper);
    stepper->completing = false;
    return 0;
}

static void extend(struct stepper *stepper, int64_t end_ns)
{
    struct trace_step *step = &stepper->trace->steps[stepper->step];
    if (end_ns > step->end_ns)
        step->end_ns = end_ns;
}

static int take_post(struct stepper *stepper, size_t event, uint32_t index)
{
    struct trace_operation *operation = &stepper->trace->operations[index];
    if (end_step(stepper, event) != 0)
        return -1;
    if (operation->direction == SPOOL_RECEIVE && stepper->standing.n_entries > 0 &&
        map_find(&stepper->standing, envelope_as_posted(operation)) != MAP_ABSENT)
        stepper->background[index - stepper->first] = true;
    if (stepper->background[index - stepper->first])
        return 0;
    if (stepper->step == TRACE_NONE && open_step(stepper, operation->post_ns) != 0)
        return -1;
    operation->step = stepper->step;
    stepper->pending++;
    stepper->pending_receives += operation->direction == SPOOL_RECEIVE;
    pending_add(&stepper->work, (uint32_t)(index - stepper->first));
    extend(stepper, operation->post_end_ns);
    return 0;
}

static int take_blocking(struct stepper *stepper, size_t event, uint32_t index)
{
    struct trace_operation *operation = &stepper->trace->operations[index];
    bool second_half = (operation->flags & SPOOL_SAME_CALL) && stepper->step != TRACE_NONE &&
                       stepper->blocking_ns == operation->post_ns;
    if (!second_half && end_step(stepper, event) != 0)
        return -1;
    if (stepper->step == TRACE_NONE && open_step(stepper, operation->post_ns) != 0)
        return -1;
    operation->step = stepper->step;
    stepper->blocking_ns = operation->post_ns;
    if (operation->direction == SPOOL_RECEIVE)
        stepper->received = true;
    stepper->completed[stepper->n_completed++] = index;
    extend(stepper, operation->complete_ns != TRACE_NO_TIME ? operation->complete_ns : operation->post_end_ns);
    return 0;
}

/* The call that reported a completion at that time: the last one begun before. SIZE_MAX: none was recorded. */
static size_t completing_call(struct stepper *stepper, int64_t at_ns)
{
    const struct trace *trace = stepper->trace;
    size_t first = trace->processes[stepper->rank].first_call, end = trace->processes[stepper->rank + 1].first_call;
    while (stepper->call < end && trace->calls[stepper->call].begin_ns <= at_ns)
        stepper->call++;
    return stepper->call > first ? stepper->call - 1 : SIZE_MAX;
}

static int take_completion(struct stepper *stepper, uint32_t index, int64_t at_ns)
{
    struct trace_operation *operation = &stepper->trace->operations[index];
    uint32_t own = (uint32_t)(index - stepper->first);
    size_t call = completing_call(stepper, at_ns);
    uint16_t function = call == SIZE_MAX ? FN_Wait : stepper->trace->calls[call].function;
    bool waited = function == FN_Wait || function == FN_Waitall || function == FN_Mrecv || function == FN_Mrecv_c;
    if (!stepper->background[own]) {
        pending_remove(&stepper->work, own);
        stepper->pending--;
        stepper->pending_receives -= operation->direction == SPOOL_RECEIVE;
    } else if (operation->direction == SPOOL_SEND && operation->step != TRACE_NONE) {
        return 0; /* waited for after its step had ended */
    } else {
        bool joins = stepper->step != TRACE_NONE &&
                     (stepper->pending > 0 || waited || (call != SIZE_MAX && stepper->opened_by == call));
        if (!joins) {
            if (open_step(stepper, call == SIZE_MAX ? at_ns : stepper->trace->calls[call].begin_ns) != 0)
                return -1;
            stepper->opened_by = call;
            if (operation->direction == SPOOL_RECEIVE && !waited && note_standing(stepper, operation) != 0)
                return -1;
        }
        operation->step = stepper->step;
    }
    stepper->completing = true;
    stepper->waited = waited;
    stepper->received = stepper->received || operation->direction == SPOOL_RECEIVE;
    stepper->completed[stepper->n_completed++] = index;
    extend(stepper, at_ns);
    return 0;
}

/* A step begins with the first post among its own operations: not with one that turned out to belong elsewhere. */
static void set_begins(struct trace *trace, size_t first_step, size_t first, size_t end)
{
    for (size_t i = end; i > first; i--) {
        const struct trace_operation *operation = &trace->operations[i - 1];
        if (operation->step == TRACE_NONE || operation->step < first_step)
            continue;
        struct trace_step *step = &trace->steps[operation->step];
        /* round holds the mark until rounds are found: the latest operation seen was posted within the step. */
        if (operation->post_ns >= step->begin_ns)
            step->round = (uint32_t)(i - 1);
    }
    for (size_t i = first_step; i < trace->n_steps; i++) {
        struct trace_step *step = &trace->steps[i];
        if (step->round != TRACE_NONE)
            step->begin_ns = trace->operations[step->round].post_ns;
        step->round = TRACE_NONE;
    }
}

static int find_steps_of_rank(struct stepper *stepper)
{
    struct trace *trace = stepper->trace;
    size_t first = trace->processes[stepper->rank].first_operation;
    size_t end = trace->processes[stepper->rank + 1].first_operation;
    size_t first_step = trace->n_steps;
    if (first == end)
        return 0;
    stepper->first = first;
    stepper->call = trace->processes[stepper->rank].first_call;
    stepper->step = TRACE_NONE;
    stepper->epoch = 0;
    stepper->pending = stepper->pending_receives = 0;
    map_release(&stepper->envelopes);
    map_release(&stepper->standing);
    if (timeline_fill(&stepper->timeline, trace, stepper->rank) != 0 ||
        background_find(&stepper->work, &stepper->timeline, trace, first, end - first, stepper->background) != 0)
        return -1;
    pending_clear(&stepper->work);
    int result = 0;
    for (size_t i = 0; result == 0 && i < stepper->timeline.n_events; i++) {
        const struct timeline_event *event = &stepper->timeline.events[i];
        switch (event->kind) {
        case EVENT_POST:
            result = take_post(stepper, i, event->index);
            break;
        case EVENT_BLOCKING:
            result = take_blocking(stepper, i, event->index);
            break;
        case EVENT_COMPLETE:
            result = take_completion(stepper, event->index, event->at_ns);
            break;
        case EVENT_COLLECTIVE: /* what is pending across it is background: the step is over */
            stepper->step = TRACE_NONE;
            stepper->epoch++;
            break;
        }
    }
    set_begins(trace, first_step, first, end);
    return result;
}

int steps_find(struct trace *trace, struct error *error)
{
    struct stepper stepper = {.trace = trace};
    size_t most = 0;
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        size_t n = trace->processes[rank + 1].first_operation - trace->processes[rank].first_operation;
        most = n > most ? n : most;
    }
    stepper.background = malloc((most + 1) * sizeof *stepper.background);
    stepper.completed = malloc((most + 1) * sizeof *stepper.completed);
    int result = stepper.background == NULL || stepper.completed == NULL ? -1 : 0;
    for (stepper.rank = 0; result == 0 && stepper.rank < (uint32_t)trace->world_size; stepper.rank++)
        result = find_steps_of_rank(&stepper);
    timeline_release(&stepper.timeline);
    background_release(&stepper.work);
    map_release(&stepper.envelopes);
    map_release(&stepper.standing);
    free(stepper.background);
    free(stepper.completed);
    return result == 0 ? 0 : error_set(error, "no memory for the steps of %d ranks", trace->world_size);
}

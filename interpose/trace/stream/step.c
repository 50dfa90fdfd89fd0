/* A step of a rank is what T Algorithm 2 does once: post, then wait. It opens with the first post while nothing is
 * pending and is over when nothing is pending any more, that is, at the next post. A blocking call by itself is a step
 * of one operation (Sendrecv: of two): the next one cannot begin before it, so they do not compete. Inside an open step
 * it is one more operation of that step. What is pending in the background (see end_set) holds no step open.
 *
 * Programs that post for the next step before they have waited for all of this one would have a single step from end to
 * end. So a step ends with operations still pending, when the rank goes on to post after completions, if
 *  - the last of them were reported by MPI_Wait, MPI_Waitall or MPI_Mrecv, which leave nothing of what they were
 *    given, and a receive was among those completed in the step, or no receive is pending: what is left was posted
 *    ahead (double-buffered halos), or is a send that will be waited for later; or
 *  - it now posts an envelope (direction, communicator, peer and tag as posted) that completed in this very step: the
 *    exchange has begun anew, however it is waited for.
 * Then the pending receives are background, and the pending sends stay where they were posted. Both rules look at what
 * the program wrote, not at how long anything took, so that repetitions of one exchange come out alike. Neither rule
 * applies to a Waitany loop that forwards what it gets, to MPI_Test between posts, or to sends through a window of
 * requests: each is one step.
 *
 * A background operation belongs to the step in which it completes: to one that is open, or to one that is over if
 * completions by MPI_Wait(all) follow without a post. Otherwise its completion is a step of its own, from the begin of
 * the call that reported it, as for a master's receives in an MPI_Waitany loop. Such a receive, posted anew, is
 * background from the start.
 *
 * Events are taken in order as they come in. A post waits until it is certain whether it is background, and, where the
 * end of a step depends on the posts that follow, until these are known. Papers are named as in share/doc/MODELS.md. */
#include "interpose/trace/stream/step.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/order.h"

/* Posts must wait until it is known whether they are background, and completions until the reading has come to their
 * time: hence a queue that is filled and emptied at different paces, and a heap of what is due. */

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

static void timeline_take(struct timeline *timeline)
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

void posted_begin(struct posted_pool *pool)
{
    *pool = (struct posted_pool){.first_free = TRACE_NONE, .first_passed = TRACE_NONE, .last_passed = TRACE_NONE};
}

uint32_t posted_new(struct posted_pool *pool)
{
    uint32_t index = pool->first_free;
    if (index != TRACE_NONE) {
        pool->first_free = pool->operations[index].held_next;
        return index;
    }
    trace_grow(&pool->operations, pool->n, sizeof *pool->operations);
    return (uint32_t)pool->n++;
}

static void posted_passed(struct posted_pool *pool, uint32_t index)
{
    pool->operations[index].held_next = pool->first_passed;
    if (pool->first_passed == TRACE_NONE)
        pool->last_passed = index;
    pool->first_passed = index;
}

void posted_end_window(struct posted_pool *pool)
{
    if (pool->first_passed == TRACE_NONE)
        return;
    pool->operations[pool->last_passed].held_next = pool->first_free;
    pool->first_free = pool->first_passed;
    pool->first_passed = TRACE_NONE;
}

void posted_release(struct posted_pool *pool)
{
    free(pool->operations);
    posted_begin(pool);
}

void step_notes_release(struct step_notes *notes)
{
    free(notes->notes);
    free(notes->ends);
    *notes = (struct step_notes){0};
}

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

struct burst {
    uint32_t number;
    uint32_t first;   /* pending operation, linked through burst_next */
    uint32_t pending; /* how many */
    uint32_t crossed; /* completed sets of others */
};

/* Makes everything pending of a burst background. */
static void mark_burst(struct posted *operations, struct burst *burst)
{
    for (uint32_t i = burst->first; i != TRACE_NONE; i = operations[i].burst_next) {
        struct posted *operation = &operations[i];
        operation->background = operation->settled = true;
        operation->burst = TRACE_NONE;
    }
    burst->first = TRACE_NONE;
    burst->pending = 0;
}

/* Ends the set: the rank posts again after completions. */
static void end_set(struct background *work, struct posted *operations)
{
    while (work->depth > 0 && work->bursts[work->depth - 1].pending == 0)
        work->depth--;
    if (work->depth > 0 && work->received > 0) {
        struct burst *youngest = &work->bursts[work->depth - 1];
        if (work->received - 1 > youngest->number && ++youngest->crossed == 2)
            mark_burst(operations, youngest);
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
    size_t at = 0;
    FIRST_BEYOND(at, work->depth - 1, work->bursts[at].number < number);
    return &work->bursts[at];
}

void background_post(struct background *work, struct posted *operations, uint32_t index)
{
    if (work->completing || work->n_bursts == 0)
        end_set(work, operations);
    struct burst *burst = current_burst(work);
    struct posted *operation = &operations[index];
    operation->burst = burst->number;
    operation->burst_next = burst->first;
    operation->burst_previous = TRACE_NONE;
    if (burst->first != TRACE_NONE)
        operations[burst->first].burst_previous = index;
    burst->first = index;
    burst->pending++;
}

void background_complete(struct background *work, struct posted *operations, uint32_t index)
{
    struct posted *operation = &operations[index];
    if (operation->burst != TRACE_NONE) {
        struct burst *burst = find_burst(work, operation->burst);
        if (operation->burst_next != TRACE_NONE)
            operations[operation->burst_next].burst_previous = operation->burst_previous;
        if (operation->burst_previous != TRACE_NONE)
            operations[operation->burst_previous].burst_next = operation->burst_next;
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

void background_blocking(struct background *work, struct posted *operations, uint32_t index)
{
    struct posted *operation = &operations[index];
    if (work->completing || work->n_bursts == 0)
        end_set(work, operations);
    operation->settled = true;
    if (operation->direction == SPOOL_RECEIVE) {
        work->completing = true;
        work->received = work->n_bursts;
    }
}

void background_collective(struct background *work, struct posted *operations)
{
    for (size_t i = 0; i < work->depth; i++)
        mark_burst(operations, &work->bursts[i]);
    work->depth = 0;
}

void background_release(struct background *work)
{
    free(work->bursts);
    *work = (struct background){0};
}

/* Envelopes as a rank posted them (direction, communicator, peer and tag, wildcards as such). Those that completed in
 * the open step show that an exchange has begun anew. Those that stand have receives that are posted anew as soon as
 * one completed. */

enum step_answer { STEP_NO, STEP_YES, STEP_NOT_KNOWN };

/* A map that grew beyond this is given back rather than cleared. */
enum { MAP_KEPT = 1024 };

static struct map_key envelope_as_posted(const struct posted *operation)
{
    int32_t peer = operation->flags & SPOOL_ANY_SOURCE ? SPOOL_ANY : operation->peer;
    int32_t tag = operation->flags & SPOOL_ANY_TAG ? SPOOL_ANY : operation->tag;
    return (struct map_key){(uint64_t)(uint32_t)peer << 32 | (uint32_t)tag, operation->communicator,
                            operation->direction};
}

static void step_note_completed(struct step_envelopes *envelopes, const struct posted *operation)
{
    array_reserve(&envelopes->completed, &envelopes->completed_capacity, envelopes->n_completed + 1,
                  sizeof *envelopes->completed);
    envelopes->completed[envelopes->n_completed++] = envelope_as_posted(operation);
}

static void step_forget_completed(struct step_envelopes *envelopes)
{
    envelopes->n_completed = envelopes->n_known = 0;
    if (envelopes->known.capacity > MAP_KEPT)
        map_release(&envelopes->known);
    map_clear(&envelopes->known);
}

/* Says whether one of the posts from the front of the timeline to the next completion repeats an envelope that
 * completed in this step. The map is brought up to date only here. */
static enum step_answer step_repeats(struct step_envelopes *envelopes, const struct posted *operations,
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
        if (map_find(&envelopes->known, envelope_as_posted(&operations[event->index])) != MAP_ABSENT)
            return STEP_YES;
    }
    return all ? STEP_NO : STEP_NOT_KNOWN;
}

static void step_note_all_standing(struct step_envelopes *envelopes)
{
    for (size_t i = 0; i < envelopes->n_completed; i++)
        if (envelopes->completed[i].c == SPOOL_RECEIVE)
            *map_at(&envelopes->standing, envelopes->completed[i]) = 1;
}

static bool step_is_standing(const struct step_envelopes *envelopes, const struct posted *operation)
{
    return operation->direction == SPOOL_RECEIVE && envelopes->standing.n_entries > 0 &&
           map_find(&envelopes->standing, envelope_as_posted(operation)) != MAP_ABSENT;
}

void steps_begin(struct stepper *stepper, struct posted_pool *pool, const struct time_in_mpi *in_mpi)
{
    *stepper = (struct stepper){.pool = pool,
                                .in_mpi = in_mpi,
                                .first_pending = TRACE_NONE,
                                .call_ns = TRACE_NO_TIME,
                                .function = FN_Wait,
                                .opened_by = UINT64_MAX,
                                .blocking_ns = TRACE_NO_TIME};
}

void steps_release(struct stepper *stepper)
{
    free(stepper->envelopes.completed);
    map_release(&stepper->envelopes.known);
    map_release(&stepper->envelopes.standing);
}

static void note(struct step_notes *notes, struct step_note note)
{
    if (notes->n == notes->capacity)
        array_reserve(&notes->notes, &notes->capacity, notes->n + 1, sizeof *notes->notes);
    notes->notes[notes->n++] = note;
}

/* Closes the step, if there is one: no operation of its rank can join it any more. */
static void leave_step(struct stepper *stepper, struct step_notes *notes)
{
    if (!stepper->open)
        return;
    /* A step begins with the first post among its own operations, not with one that turned out to belong elsewhere. */
    int64_t begin_ns = stepper->first_post_ns != INT64_MAX ? stepper->first_post_ns : stepper->begin_ns;
    note(notes, (struct step_note){.index = (uint32_t)notes->n_ends, .kind = STEP_CLOSES});
    array_reserve(&notes->ends, &notes->ends_capacity, notes->n_ends + 1, sizeof *notes->ends);
    notes->ends[notes->n_ends++] =
        (struct step_end){begin_ns, stepper->end_ns, time_in_mpi_before(stepper->in_mpi, begin_ns),
                          time_in_mpi_before(stepper->in_mpi, stepper->end_ns)};
    stepper->open = false;
}

static void open_step(struct stepper *stepper, struct step_notes *notes, int64_t begin_ns)
{
    leave_step(stepper, notes);
    note(notes, (struct step_note){.index = stepper->n_barriers, .kind = STEP_OPENS});
    stepper->open = true;
    stepper->begin_ns = stepper->end_ns = begin_ns;
    stepper->first_post_ns = INT64_MAX;
    stepper->received = stepper->completing = stepper->waited = false;
    step_forget_completed(&stepper->envelopes);
    stepper->opened_by = UINT64_MAX;
    stepper->blocking_ns = TRACE_NO_TIME;
}

static void extend_step(struct stepper *stepper, int64_t end_ns)
{
    if (end_ns > stepper->end_ns)
        stepper->end_ns = end_ns;
}

/* Puts an operation into the open step; what it has no step for is placed as well. passes: no event of it will come. */
static void place(struct stepper *stepper, struct step_notes *notes, uint32_t index, bool passes)
{
    struct posted *operation = &stepper->pool->operations[index];
    operation->placed = true;
    note(notes, (struct step_note){index, stepper->open ? STEP_TAKES : STEP_LEAVES, passes});
    if (stepper->open && operation->post_ns >= stepper->begin_ns && operation->post_ns < stepper->first_post_ns)
        stepper->first_post_ns = operation->post_ns;
    if (passes)
        posted_passed(stepper->pool, index);
}

static void place_nowhere(struct stepper *stepper, struct step_notes *notes, uint32_t index)
{
    stepper->pool->operations[index].placed = true;
    note(notes, (struct step_note){.index = index, .kind = STEP_LEAVES});
}

/* Ends what there is to say of an operation that is placed. */
static void pass(struct stepper *stepper, struct step_notes *notes, uint32_t index)
{
    note(notes, (struct step_note){index, STEP_PASSES, true});
    posted_passed(stepper->pool, index);
}

static void add_pending(struct stepper *stepper, uint32_t index)
{
    struct posted *operations = stepper->pool->operations, *operation = &operations[index];
    operation->held_next = stepper->first_pending;
    operation->held_previous = TRACE_NONE;
    if (stepper->first_pending != TRACE_NONE)
        operations[stepper->first_pending].held_previous = index;
    stepper->first_pending = index;
    stepper->pending++;
    stepper->pending_receives += operation->direction == SPOOL_RECEIVE;
}

static void remove_pending(struct stepper *stepper, uint32_t index)
{
    struct posted *operations = stepper->pool->operations, *operation = &operations[index];
    if (operation->held_next != TRACE_NONE)
        operations[operation->held_next].held_previous = operation->held_previous;
    if (operation->held_previous != TRACE_NONE)
        operations[operation->held_previous].held_next = operation->held_next;
    else
        stepper->first_pending = operation->held_next;
    stepper->pending--;
    stepper->pending_receives -= operation->direction == SPOOL_RECEIVE;
}

/* Ends the step with all pending operations: receives become background, sends keep the step that they have. */
static void cut_step(struct stepper *stepper, struct step_notes *notes)
{
    struct posted *operations = stepper->pool->operations;
    while (stepper->first_pending != TRACE_NONE) {
        uint32_t left = stepper->first_pending;
        remove_pending(stepper, left);
        operations[left].background = true;
        if (operations[left].direction != SPOOL_RECEIVE)
            continue;
        note(notes, (struct step_note){.index = left, .kind = STEP_GIVES});
        if (operations[left].complete_ns == TRACE_NO_TIME)
            place_nowhere(stepper, notes, left);
    }
    leave_step(stepper, notes);
}

/* Ends the step before a post if the step is over, or if what is pending was posted ahead. Returns false if that is not
 * known yet. */
static bool end_step(struct stepper *stepper, struct step_notes *notes, const struct timeline *timeline, bool all)
{
    if (!stepper->open)
        return true;
    bool cut = stepper->pending == 0;
    if (!cut && stepper->completing) {
        cut = stepper->waited && (stepper->received || stepper->pending_receives == 0);
        enum step_answer repeated =
            cut ? STEP_NO : step_repeats(&stepper->envelopes, stepper->pool->operations, timeline, all);
        if (repeated == STEP_NOT_KNOWN)
            return false;
        if (repeated == STEP_YES) {
            cut = true;
            step_note_all_standing(&stepper->envelopes);
        }
    }
    if (cut)
        cut_step(stepper, notes);
    stepper->completing = false;
    return true;
}

/* Returns false if it is not known yet to which step the post belongs. */
static bool take_post(struct stepper *stepper, struct step_notes *notes, const struct timeline *timeline,
                      uint32_t index, bool all)
{
    struct posted *operation = &stepper->pool->operations[index];
    if ((!operation->settled && !all) || !end_step(stepper, notes, timeline, all))
        return false;
    if (step_is_standing(&stepper->envelopes, operation))
        operation->background = true;
    if (operation->background) {
        if (operation->complete_ns == TRACE_NO_TIME)
            place_nowhere(stepper, notes, index);
        return true;
    }
    if (!stepper->open)
        open_step(stepper, notes, operation->post_ns);
    add_pending(stepper, index);
    extend_step(stepper, operation->post_end_ns);
    /* A receive may still be left out of the step where this is cut. */
    if (operation->direction == SPOOL_SEND)
        place(stepper, notes, index, false);
    else
        note(notes, (struct step_note){.index = index, .kind = STEP_HOLDS});
    return true;
}

/* Returns false as take_post does. */
static bool take_blocking(struct stepper *stepper, struct step_notes *notes, const struct timeline *timeline,
                          uint32_t index, bool all)
{
    struct posted *operation = &stepper->pool->operations[index];
    bool second_half =
        (operation->flags & SPOOL_SAME_CALL) && stepper->open && stepper->blocking_ns == operation->post_ns;
    if (!second_half && !end_step(stepper, notes, timeline, all))
        return false;
    if (!stepper->open)
        open_step(stepper, notes, operation->post_ns);
    stepper->blocking_ns = operation->post_ns;
    if (operation->direction == SPOOL_RECEIVE)
        stepper->received = true;
    extend_step(stepper, operation->complete_ns != TRACE_NO_TIME ? operation->complete_ns : operation->post_end_ns);
    step_note_completed(&stepper->envelopes, operation);
    place(stepper, notes, index, true);
    return true;
}

static void take_completion(struct stepper *stepper, struct step_notes *notes, uint32_t index, int64_t at_ns)
{
    struct posted *operation = &stepper->pool->operations[index];
    uint16_t function = stepper->call == 0 ? FN_Wait : stepper->function;
    bool waited = function == FN_Wait || function == FN_Waitall || function == FN_Mrecv || function == FN_Mrecv_c;
    if (!operation->background) {
        remove_pending(stepper, index);
    } else if (operation->placed) {
        pass(stepper, notes, index); /* a send that is waited for after its step has ended */
        return;
    } else {
        bool joins = stepper->open &&
                     (stepper->pending > 0 || waited || (stepper->call != 0 && stepper->opened_by == stepper->call));
        if (!joins) {
            open_step(stepper, notes, stepper->call == 0 ? at_ns : stepper->call_ns);
            stepper->opened_by = stepper->call == 0 ? UINT64_MAX : stepper->call;
            if (operation->direction == SPOOL_RECEIVE && !waited)
                *map_at(&stepper->envelopes.standing, envelope_as_posted(operation)) = 1;
        }
    }
    stepper->completing = true;
    stepper->waited = waited;
    stepper->received = stepper->received || operation->direction == SPOOL_RECEIVE;
    extend_step(stepper, at_ns);
    step_note_completed(&stepper->envelopes, operation);
    if (operation->placed)
        pass(stepper, notes, index);
    else
        place(stepper, notes, index, true);
}

/* Takes the event at the front of the timeline; returns false if it must stay there for the time being. */
static bool take_event(struct stepper *stepper, struct step_notes *notes, const struct timeline *timeline, bool all)
{
    struct timeline_event event = *timeline_at(timeline, 0);
    switch (event.kind) {
    case EVENT_POST:
        if (!take_post(stepper, notes, timeline, event.index, all))
            return false;
        if (!all && stepper->pool->operations[event.index].complete_ns == TRACE_NO_TIME)
            pass(stepper, notes, event.index);
        break;
    case EVENT_BLOCKING:
        if (!take_blocking(stepper, notes, timeline, event.index, all))
            return false;
        break;
    case EVENT_COMPLETE:
        take_completion(stepper, notes, event.index, event.at_ns);
        break;
    case EVENT_COLLECTIVE: /* what is pending across it is background: the step is over */
        leave_step(stepper, notes);
        stepper->n_barriers++;
        break;
    case EVENT_CALL:
        stepper->call++;
        stepper->call_ns = event.at_ns;
        stepper->function = (uint16_t)event.index;
        break;
    }
    return true;
}

/* Ends the steps at the end of the run: what is pending stays in the step in which it was posted. */
static void end_steps(struct stepper *stepper, struct step_notes *notes)
{
    while (stepper->first_pending != TRACE_NONE) {
        uint32_t left = stepper->first_pending;
        remove_pending(stepper, left);
        if (!stepper->pool->operations[left].placed)
            place(stepper, notes, left, false);
    }
    leave_step(stepper, notes);
}

void steps_advance(struct stepper *stepper, struct step_notes *notes, struct timeline *timeline, bool all)
{
    while (timeline->n_events > 0 && take_event(stepper, notes, timeline, all))
        timeline_take(timeline);
    if (all)
        end_steps(stepper, notes);
}

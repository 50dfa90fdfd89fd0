/* Keeps all state of a reading in one structure and writes into what its caller gives; it only reads the run itself. */
#include "interpose/trace/stream/rank_reading.h"

#include <stdlib.h>

#include "interpose/trace/communicators/communicators.h"
#include "interpose/trace/gather/bursts.h"
#include "interpose/trace/gather/nodes.h"
#include "interpose/trace/records/records.h"
#include "interpose/trace/site/callsite.h"
#include "share/base/array.h"
#include "share/base/memory.h"

/* Records of one thread come in the order of its calls; those of several threads are merged by time. The operations of
 * a thread keep their order, which is that of matching, whatever their times say. A matched probe has its place at the
 * return of its call, all others at its entry. */

/* Notes chunks of the lane that are gone before that span. */
static void note_gap(struct lanes *lanes, struct lane *lane, uint32_t sequence)
{
    /* Where the lane was silent in a burst it is not known what of the gap lies before it. */
    int64_t next = (lane->before | 1) + (place_is_inside(lane->before) ? 2 : 0);
    if (sequence != lane->sequence)
        outside_pass(&lanes->outside, (struct passed_gap){lane->number, lane->sequence, sequence,
                                                          lane->place > next ? lane->place : INT64_MIN});
}

/* Finds the place of the lane's next record, and the gap before it. Times of a lane do not go back there. */
static void find_place(struct lanes *lanes, struct lane *lane, const struct trace *trace, uint64_t before_ticks)
{
    const struct trace_process *process = lanes->process;
    const struct spool_span *spans = process->spool->spans;
    lane->before = lane->place;
    lane->place = INT64_MAX;
    if (lane->record != NULL) {
        lane->ticks = lane->ticks > before_ticks ? lane->ticks : before_ticks;
        lane->place = burst_place(trace, process,
                                  clock_ns(&trace->nodes[process->node], process, lane->ticks, &lane->clock_hint));
    }
    for (; lane->record != NULL && lane->span <= lane->cursor.span; lane->span++) {
        note_gap(lanes, lane, spans[lane->span].sequence);
        lane->sequence = spans[lane->span].sequence + 1;
    }
    if (lane->record == NULL) {
        for (; lane->span < lane->cursor.end_span; lane->span++) {
            note_gap(lanes, lane, spans[lane->span].sequence);
            lane->sequence = spans[lane->span].sequence + 1;
        }
        note_gap(lanes, lane, UINT32_MAX);
    }
}

/* Finds the next record of the lane that matters here. */
static void find_record(struct lanes *lanes, struct lane *lane, const struct trace *trace)
{
    uint64_t before_ticks = lane->ticks;
    while ((lane->record = spool_next(&lane->cursor)) != NULL &&
           !record_order(trace, lanes->process, lane->record, &lane->ticks))
        ;
    if (trace->bursts.thinned)
        find_place(lanes, lane, trace, before_ticks);
}

/* Returns the entry of the call with which the lane goes on behind rows of tests without a result; UINT64_MAX: it does
 * not. */
static uint64_t lane_rows_end_ticks(const struct lane *lane)
{
    struct spool_cursor ahead = lane->cursor;
    const uint8_t *later = NULL;
    do
        later = spool_next(&ahead);
    while (later != NULL && (*later == SPOOL_IDLE || record_begin_ticks(later) == 0));
    return later != NULL ? record_begin_ticks(later) : UINT64_MAX;
}

/* True if the call of the lane's record, an operation, never returned although its thread went on: an error
 * handler left it by a jump. */
static bool lane_left_call(const struct lane *lane)
{
    const struct spool_operation *operation = (const void *)lane->record;
    struct spool_cursor ahead = lane->cursor;
    const uint8_t *later = NULL;
    if (operation->call_ticks != 0 || operation->complete_ticks != 0)
        return false;
    do
        later = spool_next(&ahead);
    while (later != NULL && record_begin_ticks(later) <= operation->post_ticks);
    return later != NULL;
}

/* Begins with the first record of each lane. */
static void lanes_begin(struct lanes *lanes, const struct trace *trace, const struct trace_process *process)
{
    lanes->process = process;
    lanes->lanes = xcalloc(process->n_lanes, sizeof *lanes->lanes);
    for (size_t i = 0; i < process->n_lanes; i++) {
        const struct trace_lane *known = &process->lanes[i];
        struct lane *lane = &lanes->lanes[lanes->n_lanes];
        *lane =
            (struct lane){.cursor = {.spool = process->spool, .span = known->first_span, .end_span = known->end_span},
                          .next_origin = known->first_origin,
                          .idle_end_ns = INT64_MIN,
                          .number = known->number,
                          .place = INT64_MIN / 2,
                          .span = known->first_span};
        find_record(lanes, lane, trace);
        lanes->n_lanes += lane->record != NULL;
    }
}

/* Returns the lane whose record (SPOOL_OPERATION, SPOOL_CALL or SPOOL_IDLE) is the next of the process; NULL at the
 * end. */
static struct lane *lanes_first(const struct lanes *lanes)
{
    struct lane *first = lanes->n_lanes > 0 ? &lanes->lanes[0] : NULL;
    for (size_t i = 1; i < lanes->n_lanes; i++)
        if (lanes->lanes[i].ticks < first->ticks)
            first = &lanes->lanes[i];
    return first;
}

/* Goes on behind the record of that lane. */
static void lanes_take(struct lanes *lanes, const struct trace *trace, struct lane *lane)
{
    if (*lane->record == SPOOL_OPERATION && record_has_origin((const void *)lane->record) &&
        (!trace->bursts.thinned || place_is_inside(lane->place)))
        lane->next_origin++;
    find_record(lanes, lane, trace);
    if (lane->record != NULL)
        return;
    /* The other lanes keep their order, which decides between equal times. */
    for (struct lane *last = lanes->lanes + --lanes->n_lanes; lane < last; lane++)
        *lane = lane[1];
}

/* Takes the records of the rank. An operation gets the times of the run, its communicator and call site, and goes onto
 * the rank's timeline, from which steps are made. A timeline is in the order of time though completions are known only
 * with the operation: they wait (step.h) until the reading has come to their time, as collectives do, which are in
 * memory from the first reading on. A completion call becomes a row of `call` and an event that tells how what follows
 * was waited for. Time inside MPI is added up beside this, from all that was recorded (time_in_mpi_add). */

/* Adds to the time in MPI what is not on the timeline. */
static void add_time_in_mpi_until(struct rank_reading *reading, int64_t until_ns)
{
    const struct trace *trace = reading->trace;
    const struct trace_process *process = &trace->processes[reading->rank];
    for (; reading->next_in_mpi < process[1].first_call && trace->calls[reading->next_in_mpi].begin_ns <= until_ns;
         reading->next_in_mpi++)
        time_in_mpi_add(&reading->in_mpi, trace->calls[reading->next_in_mpi].begin_ns,
                        trace->calls[reading->next_in_mpi].call_end_ns);
}

/* Puts completions and collectives up to a moment on the timeline. At one and the same time completions come first,
 * then collectives, then posts. */
static void advance(struct rank_reading *reading, int64_t until_ns)
{
    const struct trace *trace = reading->trace;
    size_t end = trace->processes[reading->rank + 1].first_call;
    for (;;) {
        while (reading->next_collective < end && !call_bounds(&trace->calls[reading->next_collective]))
            reading->next_collective++;
        int64_t collective_ns =
            reading->next_collective < end ? trace->calls[reading->next_collective].begin_ns : INT64_MAX;
        bool bounds = reading->next_collective < end && collective_ns < reading->bounds_until_ns;
        if (!bounds)
            collective_ns = INT64_MAX;
        const struct timeline_due *due = reading->timeline.n_due > 0 ? &reading->timeline.due[0] : NULL;
        if (due != NULL && due->at_ns <= until_ns && due->at_ns <= collective_ns) {
            struct timeline_event event = {due->at_ns, due->operation, EVENT_COMPLETE};
            timeline_arrived(&reading->timeline);
            background_complete(&reading->background, reading->posted.operations, event.index);
            timeline_add(&reading->timeline, event);
        } else if (bounds && collective_ns <= until_ns) {
            background_collective(&reading->background, reading->posted.operations);
            timeline_add(&reading->timeline, (struct timeline_event){collective_ns, 0, EVENT_COLLECTIVE});
            reading->next_collective++;
        } else {
            return;
        }
    }
}

/* Puts the operation on the timeline. */
static void add_events(struct rank_reading *reading, struct trace_operation *operation)
{
    bool completes = operation->complete_ns != TRACE_NO_TIME;
    /* No call waits for a freed request: it holds no step open beyond its own call. */
    bool blocking = (operation->flags & SPOOL_BLOCKING) || ((operation->flags & SPOOL_FREED) && !completes);
    uint32_t index = posted_new(&reading->posted);
    operation->posted = index;
    reading->posted.operations[index] = (struct posted){.post_ns = operation->post_ns,
                                                        .post_end_ns = operation->post_end_ns,
                                                        .complete_ns = operation->complete_ns,
                                                        .communicator = operation->communicator,
                                                        .peer = operation->peer,
                                                        .tag = operation->tag,
                                                        .burst = TRACE_NONE,
                                                        .flags = operation->flags,
                                                        .direction = operation->direction};
    advance(reading, operation->post_ns);
    if (blocking)
        background_blocking(&reading->background, reading->posted.operations, index);
    else
        background_post(&reading->background, reading->posted.operations, index);
    timeline_add(&reading->timeline,
                 (struct timeline_event){operation->post_ns, index, blocking ? EVENT_BLOCKING : EVENT_POST});
    if (blocking || !completes)
        return;
    /* An operation never completes before it was posted. */
    int64_t at_ns = operation->complete_ns > operation->post_ns ? operation->complete_ns : operation->post_ns + 1;
    timeline_expect(&reading->timeline, (struct timeline_due){at_ns, operation->sequence, index});
}

/* Returns how many operations the call of the window's last one completed, both halves of a Sendrecv counted; -1 if
 * another operation stands for the call: the first half, which is in the same window, or the first of a Startall. */
static int8_t completed_by(const struct rank_reading *reading, struct rank_window *found)
{
    struct trace_operation *operation = &found->operations[found->n_operations - 1];
    if (operation->flags & SPOOL_SAME_CALL) {
        if (found->n_operations > 1 && operation[-1].completed == 1)
            operation[-1].completed = 2;
        return -1;
    }
    const struct last_operation *before = &reading->last;
    if (operation->function == FN_Startall && before->function == FN_Startall && before->lane == operation->lane &&
        before->post_ns == operation->post_ns)
        return -1;
    return (operation->flags & SPOOL_BLOCKING) && operation->complete_ns != TRACE_NO_TIME;
}

/* Returns the ticks at which the posting call returned. call_ticks ends at 32 bits, and a call that waits may take
 * longer. */
static uint64_t post_end_ticks(const struct spool_operation *record)
{
    bool waited = (record->flags & SPOOL_BLOCKING) && record->complete_ticks != 0;
    return waited ? record->complete_ticks : record->post_ticks + record->call_ticks;
}

/* Judges what a call that failed, or that was left by a jump, says of its place in matching. Mostly MPI rejected the
 * call and the error handler jumped. But a blocking receive may have been too short for its message, and so may one
 * that failed after it was posted. */
static void judge_failure(struct trace_operation *operation, const struct lane *lane)
{
    bool left = lane_left_call(lane), blocking = (operation->flags & SPOOL_BLOCKING) != 0;
    bool failed_later = (operation->flags & SPOOL_FAILED) && operation->complete_ns > operation->post_end_ns;
    bool receives =
        operation->direction == SPOOL_RECEIVE || (blocking && function_family(operation->function) == FAMILY_SENDRECV);
    if (left)
        operation->flags |= SPOOL_FAILED;
    operation->unsure = receives && !(operation->flags & SPOOL_TOOK) && (blocking ? left : failed_later);
}

static struct trace_operation read_operation(const struct trace *trace, uint32_t rank, struct lane *lane,
                                             int64_t post_ns)
{
    const struct trace_process *process = &trace->processes[rank];
    const struct spool_operation *record = (const void *)lane->record;
    uint32_t communicator = process->communicators[record->communicator];
    return (struct trace_operation){
        .post_ns = post_ns,
        .post_end_ns = ticks_run_ns(trace, process, post_end_ticks(record), &lane->clock_hint),
        .complete_ns = record->complete_ticks == 0
                           ? TRACE_NO_TIME
                           : ticks_run_ns(trace, process, record->complete_ticks, &lane->clock_hint),
        .bytes = record->bytes,
        .rank = rank,
        .communicator = communicator_context(trace, communicator),
        .peer = record->peer,
        .peer_world = communicator_world_rank(trace, communicator, record->peer),
        .tag = record->tag,
        .partner = TRACE_NONE,
        .callsite = callsite_find(&process->callsites, record->site, record->post_ticks),
        .step = TRACE_NONE,
        .lane = lane->number,
        .origin = record_has_origin(record) ? (uint32_t)lane->next_origin : TRACE_NONE,
        .next = TRACE_NONE,
        .posted = TRACE_NONE,
        .function = record->function,
        .flags = record->flags,
        .cpu_post = record->cpu_post,
        .cpu_complete = record->cpu_complete,
        .direction = record->direction,
        .memory = record->memory,
        .uncertain = (uint8_t)((record->flags & SPOOL_UNCERTAIN_ORDER ? DOUBT_THREADS : 0) |
                               (trace->communicators[communicator].known ? 0 : DOUBT_COMMUNICATOR) |
                               (record->post_ticks >= process->lost_ticks ? DOUBT_LOST : 0)),
    };
}

/* Returns the time of the run at ticks of the lane's record; mostly the reading has come to that very moment. */
static int64_t record_ns(const struct rank_reading *reading, struct lane *lane, uint64_t ticks)
{
    return ticks == lane->ticks
               ? reading->next_ns + reading->start_ns
               : ticks_run_ns(reading->trace, &reading->trace->processes[reading->rank], ticks, &lane->clock_hint);
}

/* True if the operation may be part of a message to another node. */
static bool leaves_node(const struct trace *trace, uint32_t rank, const struct spool_operation *record)
{
    const struct trace_process *process = &trace->processes[rank];
    int32_t peer = communicator_world_rank(trace, process->communicators[record->communicator], record->peer);
    return peer >= 0 && trace->processes[peer].node != process->node;
}

static void take_operation(struct rank_reading *reading, struct rank_window *found, struct lane *lane)
{
    const struct trace *trace = reading->trace;
    const struct spool_operation *record = (const void *)lane->record;
    if (reading->only_messages && !leaves_node(trace, reading->rank, record))
        return;
    if (found->n_operations == found->operations_capacity)
        array_reserve(&found->operations, &found->operations_capacity, found->n_operations + 1,
                      sizeof *found->operations);
    struct trace_operation *operation = &found->operations[found->n_operations++];
    *operation = read_operation(trace, reading->rank, lane, record_ns(reading, lane, record->post_ticks));
    operation->sequence = ++reading->n_operations;
    judge_failure(operation, lane);
    bool off = (record->flags & SPOOL_OFF) != 0;
    operation->counts = !off && operation->peer_world >= 0 && operation->peer_world != (int32_t)reading->rank;
    operation->completed = completed_by(reading, found);
    reading->last = (struct last_operation){operation->post_ns, operation->lane, operation->function};
    operation->passed = reading->only_messages || off;
    if (reading->only_messages)
        return;
    add_time_in_mpi_until(reading, operation->post_ns);
    operation->in_mpi_ns = time_in_mpi_before(&reading->in_mpi, operation->post_ns);
    time_in_mpi_add(&reading->in_mpi, operation->post_ns, operation->post_end_ns);
    if (!off)
        add_events(reading, operation);
}

static void add_call_row(struct rank_window *found, struct call_row row)
{
    array_reserve(&found->calls, &found->calls_capacity, found->n_calls + 1, sizeof *found->calls);
    found->calls[found->n_calls++] = row;
}

static void take_call(struct rank_reading *reading, struct rank_window *found, struct lane *lane)
{
    const struct trace *trace = reading->trace;
    const struct trace_process *process = &trace->processes[reading->rank];
    const struct spool_call *record = (const void *)lane->record;
    int64_t begin_ns = record_ns(reading, lane, record->begin_ticks);
    int64_t end_ns = ticks_run_ns(trace, process, record->begin_ticks + record->call_ticks, &lane->clock_hint);
    uint32_t callsite = callsite_find(&process->callsites, record->site, record->begin_ticks);
    add_call_row(found, (struct call_row){.begin_ns = begin_ns,
                                          .call_ns = end_ns - begin_ns,
                                          .rank = reading->rank,
                                          .completed = record->completed,
                                          .callsite = callsite,
                                          .function = record->function});
    add_time_in_mpi_until(reading, begin_ns);
    time_in_mpi_add(&reading->in_mpi, begin_ns, end_ns);
    /* What completed at this very moment was reported by this call. */
    advance(reading, begin_ns - 1);
    timeline_add(&reading->timeline, (struct timeline_event){begin_ns, record->function, EVENT_CALL});
}

/* Takes unsuccessful tests. Only their total time is known, by an estimate that may exceed the time until the lane's
 * next call, and not when each of them was in that time. */
static void take_idle(struct rank_reading *reading, struct rank_window *found, struct lane *lane)
{
    const struct trace *trace = reading->trace;
    const struct trace_process *process = &trace->processes[reading->rank];
    const struct spool_idle *record = (const void *)lane->record;
    int64_t begin_ns = record_ns(reading, lane, record->begin_ticks);
    uint64_t end_ticks = lane_rows_end_ticks(lane), ticks = spool_idle_ticks(record);
    if (end_ticks < record->begin_ticks || ticks > end_ticks - record->begin_ticks)
        ticks = end_ticks > record->begin_ticks ? end_ticks - record->begin_ticks : 0;
    int64_t length_ns = ticks_run_ns(trace, process, record->begin_ticks + ticks, &lane->clock_hint) - begin_ns;
    uint32_t callsite = callsite_find_sum(&process->callsites, record->site, record->begin_ticks,
                                          record->begin_ticks + record->first_ticks);
    add_call_row(found, (struct call_row){.begin_ns = begin_ns,
                                          .call_ns = length_ns,
                                          .rank = reading->rank,
                                          .idle_calls = record->calls,
                                          .callsite = callsite,
                                          .function = record->function});
    begin_ns = lane->idle_end_ns > begin_ns ? lane->idle_end_ns : begin_ns;
    lane->idle_end_ns = begin_ns + length_ns;
    add_time_in_mpi_until(reading, begin_ns);
    time_in_mpi_add(&reading->in_mpi, begin_ns, begin_ns + length_ns);
}

static void take_records(struct rank_reading *reading, const struct window *window, struct rank_window *found)
{
    const struct trace *trace = reading->trace;
    const struct trace_process *process = &trace->processes[reading->rank];
    struct lane *lane;
    for (; (lane = lanes_first(&reading->lanes)) != NULL; found->n_read++) {
        const struct spool_operation *record = (const void *)lane->record;
        if (trace->bursts.thinned && lane->place != window->place)
            break;
        reading->next_ns = ticks_run_ns(trace, process, lane->ticks, &lane->clock_hint) - reading->start_ns;
        bool second_half = *lane->record == SPOOL_OPERATION && (record->flags & SPOOL_SAME_CALL);
        if ((reading->next_ns > window->until_ns || found->n_read >= window->limit) && !second_half)
            return;
        if (*lane->record == SPOOL_OPERATION)
            take_operation(reading, found, lane);
        else if (!reading->only_messages && *lane->record == SPOOL_IDLE)
            take_idle(reading, found, lane);
        else if (!reading->only_messages)
            take_call(reading, found, lane);
        lanes_take(&reading->lanes, trace, lane);
    }
    reading->next_ns = INT64_MAX;
    if (!reading->only_messages)
        advance(reading, INT64_MAX);
}

/* Discards what is not needed any more: time in MPI is asked for from the open step on, and from the first event that
 * waits. */
static void forget_time_in_mpi(struct rank_reading *reading)
{
    const struct timeline_event *event = timeline_at(&reading->timeline, 0);
    if (reading->next_ns == INT64_MAX && event == NULL)
        return;
    int64_t before_ns = event != NULL ? event->at_ns : reading->next_ns + reading->start_ns;
    if (reading->stepper.open && reading->stepper.begin_ns < before_ns)
        before_ns = reading->stepper.begin_ns;
    if (reading->stepper.call != 0 && reading->stepper.call_ns < before_ns)
        before_ns = reading->stepper.call_ns;
    time_in_mpi_forget(&reading->in_mpi, before_ns);
}

static void window_clear(struct rank_window *found)
{
    found->n_operations = found->n_calls = found->n_read = found->notes.n = found->notes.n_ends = 0;
}

void reading_take(struct rank_reading *reading, const struct window *window, struct rank_window *found)
{
    window_clear(found);
    bool is_over = reading->next_ns == INT64_MAX;
    if (!is_over)
        take_records(reading, window, found);
    found->next_ns = reading->next_ns;
    if (is_over || reading->only_messages)
        return;
    steps_advance(&reading->stepper, &found->notes, &reading->timeline, false);
    posted_end_window(&reading->posted);
    forget_time_in_mpi(reading);
}

void reading_end(struct rank_reading *reading, struct rank_window *found)
{
    window_clear(found);
    steps_advance(&reading->stepper, &found->notes, &reading->timeline, true);
    posted_end_window(&reading->posted);
}

void rank_window_release(struct rank_window *found)
{
    free(found->operations);
    free(found->calls);
    step_notes_release(&found->notes);
    *found = (struct rank_window){0};
}

/* Begins without steps and without a last operation. */
static void begin_steps(struct rank_reading *reading)
{
    posted_begin(&reading->posted);
    steps_begin(&reading->stepper, &reading->posted, &reading->in_mpi);
    reading->last.function = FN_COUNT;
}

void reading_begin(struct rank_reading *reading, struct trace *trace, uint32_t rank, bool only_messages,
                   struct matcher *matcher)
{
    const struct trace_process *process = &trace->processes[rank];
    *reading = (struct rank_reading){.trace = trace,
                                     .rank = rank,
                                     .only_messages = only_messages,
                                     .next_collective = process->first_call,
                                     .next_in_mpi = process->first_call,
                                     .bounds_until_ns = INT64_MAX};
    begin_steps(reading);
    if (process->spool == NULL) {
        reading->next_ns = INT64_MAX;
        return;
    }
    if (trace->bursts.thinned)
        outside_begin(&reading->lanes.outside, trace, matcher, rank);
    lanes_begin(&reading->lanes, trace, process);
}

static void release_steps(struct rank_reading *reading)
{
    timeline_release(&reading->timeline);
    background_release(&reading->background);
    steps_release(&reading->stepper);
    posted_release(&reading->posted);
}

void reading_release(struct rank_reading *reading)
{
    free(reading->lanes.lanes);
    outside_release(&reading->lanes.outside);
    release_steps(reading);
    time_in_mpi_release(&reading->in_mpi);
}

int64_t reading_skip_outside(struct rank_reading *reading, struct matcher *matcher)
{
    struct lane *lane;
    outside_count_passed(&reading->lanes.outside, matcher);
    while ((lane = lanes_first(&reading->lanes)) != NULL && !place_is_inside(lane->place)) {
        if (*lane->record == SPOOL_OPERATION &&
            !outside_count_record(&reading->lanes.outside, matcher, reading->rank, (const void *)lane->record)) {
            const struct spool_operation *record = (const void *)lane->record;
            int64_t post_ns =
                ticks_run_ns(reading->trace, reading->lanes.process, record->post_ticks, &lane->clock_hint);
            struct trace_operation operation = read_operation(reading->trace, reading->rank, lane, post_ns);
            match_note_open(matcher, &operation);
        }
        lanes_take(&reading->lanes, reading->trace, lane);
        outside_count_passed(&reading->lanes.outside, matcher);
    }
    return lane != NULL ? lane->place : INT64_MAX;
}

int64_t reading_begin_burst(struct rank_reading *reading, int64_t place)
{
    const struct trace *trace = reading->trace;
    const struct trace_process *process = &trace->processes[reading->rank];
    struct lane *lane = lanes_first(&reading->lanes);
    reading->next_ns = INT64_MAX;
    if (lane == NULL || lane->place != place)
        return INT64_MAX;
    reading->bounds_until_ns = clock_run_ns(&trace->nodes[process->node], burst_end_ns(trace, process, place));
    reading->next_ns = ticks_run_ns(trace, process, lane->ticks, &lane->clock_hint) - reading->start_ns;
    return reading->next_ns;
}

void reading_end_burst(struct rank_reading *reading)
{
    uint32_t n_barriers = reading->stepper.n_barriers;
    release_steps(reading);
    begin_steps(reading);
    reading->stepper.n_barriers = n_barriers;
}

/* Reads all ranks side by side, window by window: of each rank the records up to a moment of the run. At the end of a
 * window the rows of everything that is complete are handed to the sink, and what they stood for is forgotten. Where a
 * window ends does not matter to what is found, only to the order of ids. The windows' lengths follow the density of
 * records, and a rank that has very many records in one ends it for all. */
#include "interpose/trace/stream/stream.h"

#include <stdlib.h>

#include "interpose/trace/communicators/communicators.h"
#include "interpose/trace/gather/bursts.h"
#include "interpose/trace/gather/nodes.h"
#include "interpose/trace/records/records.h"
#include "interpose/trace/site/callsite.h"
#include "interpose/trace/stream/round.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"
#include "interpose/trace/stream/match.h"
#include "interpose/trace/stream/outside.h"
#include "interpose/trace/rows/sink.h"
#include "interpose/trace/stream/step.h"
#include "interpose/trace/state/trace.h"

/* Records of one thread come in the order of its calls; those of several threads are merged by time. The operations of
 * a thread keep their order, which is that of matching, whatever their times say. A matched probe has its place at the
 * return of its call, all others at its entry. */

struct lane {
    struct spool_cursor cursor;
    const uint8_t *record; /* the next one, NULL: none any more */
    uint64_t ticks;        /* its time */
    size_t clock_hint;
    size_t next_origin;  /* origin of the next operation that has one */
    int64_t idle_end_ns; /* end of the unsuccessful tests so far; each sum is laid behind the one before */
    uint32_t number;
    /* Of a thinned run: */
    int64_t place;     /* of the record */
    int64_t before;    /* of the one before */
    size_t span;       /* the next one to be looked at */
    uint32_t sequence; /* of the chunk that should come next */
};

struct lanes {
    const struct trace_process *process;
    struct outside_calls outside;
    struct lane *lanes; /* [n_lanes] that have records left */
    size_t n_lanes;
};

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

struct stream_rank {
    uint32_t rank;
    struct lanes lanes;
    struct timeline timeline;
    struct background background;
    struct stepper stepper;
    uint64_t n_operations;
    size_t next_collective; /* index in trace.calls, for the timeline */
    size_t next_in_mpi;     /* for the time in MPI */
    uint32_t last;          /* the operation before, TRACE_NONE: none */
    int64_t next_ns;
    int64_t bounds_until_ns; /* before this, collectives go onto the timeline */
};

struct stream {
    struct trace *trace;
    struct matcher matcher;
    struct rounds rounds;
    struct sink *sink; /* NULL: only messages are wanted */
    void (*message)(void *context, const struct trace *trace, const struct trace_operation *send,
                    const struct trace_operation *receive);
    void *message_context;
    struct stream_rank *ranks; /* [world_size] */
    int64_t *starts_ns;        /* [n_nodes] begin of the earliest process of the node, from which windows count */
    uint32_t *alone;           /* [n_alone] operations without a partner, of this window */
    size_t n_alone;
    size_t alone_capacity;
    int64_t until_ns; /* end of the window */
    int64_t place;    /* of a thinned run: the burst that is read */
    size_t n_read;    /* operations and calls in it */
    int64_t n_paired; /* messages that must be written */
};

/* Takes the records of one rank. An operation gets its place in the pool, the times of the run, its communicator and
 * call site. It goes to the matcher, which pairs it, and onto the rank's timeline, from which steps are made. A
 * timeline is in the order of time though completions are known only with the operation: they wait (step.h) until
 * the reading has come to their time, as collectives do, which are in memory from the first reading on. A completion
 * call becomes a row of `call` and an event that tells how what follows was waited for. Time inside MPI is added up
 * beside this, from all that was recorded (time_in_mpi_add). */

/* Adds to the time in MPI what is not on the timeline. */
static void add_time_in_mpi_until(struct stream *stream, struct stream_rank *rank, int64_t until_ns)
{
    struct trace *trace = stream->trace;
    struct trace_process *process = &trace->processes[rank->rank];
    for (; rank->next_in_mpi < process[1].first_call && trace->calls[rank->next_in_mpi].begin_ns <= until_ns;
         rank->next_in_mpi++)
        time_in_mpi_add(&process->in_mpi, trace->calls[rank->next_in_mpi].begin_ns,
                        trace->calls[rank->next_in_mpi].call_end_ns);
}

/* Puts completions and collectives up to a moment on the timeline. At one and the same time completions come first,
 * then collectives, then posts. */
static void advance(struct stream *stream, struct stream_rank *rank, int64_t until_ns)
{
    struct trace *trace = stream->trace;
    size_t end = trace->processes[rank->rank + 1].first_call;
    for (;;) {
        while (rank->next_collective < end && !call_bounds(&trace->calls[rank->next_collective]))
            rank->next_collective++;
        int64_t collective_ns = rank->next_collective < end ? trace->calls[rank->next_collective].begin_ns : INT64_MAX;
        bool bounds = rank->next_collective < end && collective_ns < rank->bounds_until_ns;
        if (!bounds)
            collective_ns = INT64_MAX;
        const struct timeline_due *due = rank->timeline.n_due > 0 ? &rank->timeline.due[0] : NULL;
        if (due != NULL && due->at_ns <= until_ns && due->at_ns <= collective_ns) {
            struct timeline_event event = {due->at_ns, due->operation, EVENT_COMPLETE};
            timeline_arrived(&rank->timeline);
            background_complete(&rank->background, trace, event.index);
            timeline_add(&rank->timeline, event);
        } else if (bounds && collective_ns <= until_ns) {
            background_collective(&rank->background, trace);
            timeline_add(&rank->timeline, (struct timeline_event){collective_ns, 0, EVENT_COLLECTIVE});
            rank->next_collective++;
        } else {
            return;
        }
    }
}

/* Puts the operation on the timeline. */
static void add_events(struct stream *stream, struct stream_rank *rank, uint32_t index)
{
    struct trace *trace = stream->trace;
    struct trace_operation *operation = &trace->operations[index];
    bool completes = operation->complete_ns != TRACE_NO_TIME;
    /* No call waits for a freed request: it holds no step open beyond its own call. */
    bool blocking = (operation->flags & SPOOL_BLOCKING) || ((operation->flags & SPOOL_FREED) && !completes);
    advance(stream, rank, operation->post_ns);
    if (blocking)
        background_blocking(&rank->background, trace, index);
    else
        background_post(&rank->background, trace, index);
    timeline_add(&rank->timeline,
                 (struct timeline_event){operation->post_ns, index, blocking ? EVENT_BLOCKING : EVENT_POST});
    if (blocking || !completes)
        return;
    /* An operation never completes before it was posted. */
    int64_t at_ns = operation->complete_ns > operation->post_ns ? operation->complete_ns : operation->post_ns + 1;
    timeline_expect(&rank->timeline, (struct timeline_due){at_ns, operation->sequence, index});
}

/* Returns how many operations the call completed, both halves of a Sendrecv counted; -1 if another operation stands for
 * the call: the first half, or the first of a Startall. */
static int8_t completed_by(struct trace *trace, const struct stream_rank *rank, const struct trace_operation *operation)
{
    struct trace_operation *before = rank->last == TRACE_NONE ? NULL : &trace->operations[rank->last];
    bool followed = before != NULL && before->rank == operation->rank && before->sequence + 1 == operation->sequence;
    if (operation->flags & SPOOL_SAME_CALL) {
        if (followed && before->completed == 1)
            before->completed = 2;
        return -1;
    }
    if (followed && operation->function == FN_Startall && before->function == FN_Startall &&
        before->lane == operation->lane && before->post_ns == operation->post_ns)
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

static struct trace_operation read_operation(const struct trace *trace, uint32_t rank, struct lane *lane)
{
    const struct trace_process *process = &trace->processes[rank];
    const struct spool_operation *record = (const void *)lane->record;
    uint32_t communicator = process->communicators[record->communicator];
    return (struct trace_operation){
        .post_ns = ticks_run_ns(trace, process, record->post_ticks, &lane->clock_hint),
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
        .burst = TRACE_NONE,
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

/* True if the operation may be part of a message to another node. */
static bool leaves_node(const struct trace *trace, uint32_t rank, const struct spool_operation *record)
{
    const struct trace_process *process = &trace->processes[rank];
    int32_t peer = communicator_world_rank(trace, process->communicators[record->communicator], record->peer);
    return peer >= 0 && trace->processes[peer].node != process->node;
}

static void take_operation(struct stream *stream, struct stream_rank *rank, struct lane *lane)
{
    struct trace *trace = stream->trace;
    struct trace_process *process = &trace->processes[rank->rank];
    const struct spool_operation *record = (const void *)lane->record;
    if (stream->sink == NULL && !leaves_node(trace, rank->rank, record))
        return;
    uint32_t index = operation_new(trace);
    struct trace_operation *operation = &trace->operations[index];
    *operation = read_operation(trace, rank->rank, lane);
    operation->sequence = ++rank->n_operations;
    judge_failure(operation, lane);
    bool off = (record->flags & SPOOL_OFF) != 0;
    operation->counts = !off && operation->peer_world >= 0 && operation->peer_world != (int32_t)rank->rank;
    operation->completed = completed_by(trace, rank, operation);
    rank->last = index;
    operation->passed = stream->sink == NULL || off;
    stream->matcher.is_uncounted = rank->lanes.outside.is_uncounted;
    if (stream->sink == NULL) {
        match_operation(&stream->matcher, index);
        return;
    }
    if (off)
        marks_count(trace, operation, false);
    add_time_in_mpi_until(stream, rank, operation->post_ns);
    operation->in_mpi_ns = time_in_mpi_before(&process->in_mpi, operation->post_ns);
    time_in_mpi_add(&process->in_mpi, operation->post_ns, operation->post_end_ns);
    if (!off)
        add_events(stream, rank, index);
    match_operation(&stream->matcher, index);
}

static void take_call(struct stream *stream, struct stream_rank *rank, struct lane *lane)
{
    struct trace *trace = stream->trace;
    struct trace_process *process = &trace->processes[rank->rank];
    const struct spool_call *record = (const void *)lane->record;
    int64_t begin_ns = ticks_run_ns(trace, process, record->begin_ticks, &lane->clock_hint);
    int64_t end_ns = ticks_run_ns(trace, process, record->begin_ticks + record->call_ticks, &lane->clock_hint);
    uint32_t callsite = callsite_find(&process->callsites, record->site, record->begin_ticks);
    sink_call(stream->sink, (struct call_row){.begin_ns = begin_ns,
                                              .call_ns = end_ns - begin_ns,
                                              .rank = rank->rank,
                                              .completed = record->completed,
                                              .callsite = callsite,
                                              .function = record->function});
    add_time_in_mpi_until(stream, rank, begin_ns);
    time_in_mpi_add(&process->in_mpi, begin_ns, end_ns);
    /* What completed at this very moment was reported by this call. */
    advance(stream, rank, begin_ns - 1);
    timeline_add(&rank->timeline, (struct timeline_event){begin_ns, record->function, EVENT_CALL});
}

/* Takes unsuccessful tests. Only their total time is known, by an estimate that may exceed the time until the lane's
 * next call, and not when each of them was in that time. */
static void take_idle(struct stream *stream, struct stream_rank *rank, struct lane *lane)
{
    struct trace *trace = stream->trace;
    struct trace_process *process = &trace->processes[rank->rank];
    const struct spool_idle *record = (const void *)lane->record;
    int64_t begin_ns = ticks_run_ns(trace, process, record->begin_ticks, &lane->clock_hint);
    uint64_t end_ticks = lane_rows_end_ticks(lane), ticks = spool_idle_ticks(record);
    if (end_ticks < record->begin_ticks || ticks > end_ticks - record->begin_ticks)
        ticks = end_ticks > record->begin_ticks ? end_ticks - record->begin_ticks : 0;
    int64_t length_ns = ticks_run_ns(trace, process, record->begin_ticks + ticks, &lane->clock_hint) - begin_ns;
    uint32_t callsite = callsite_find_sum(&process->callsites, record->site, record->begin_ticks,
                                          record->begin_ticks + record->first_ticks);
    sink_call(stream->sink, (struct call_row){.begin_ns = begin_ns,
                                              .call_ns = length_ns,
                                              .rank = rank->rank,
                                              .idle_calls = record->calls,
                                              .callsite = callsite,
                                              .function = record->function});
    begin_ns = lane->idle_end_ns > begin_ns ? lane->idle_end_ns : begin_ns;
    lane->idle_end_ns = begin_ns + length_ns;
    add_time_in_mpi_until(stream, rank, begin_ns);
    time_in_mpi_add(&process->in_mpi, begin_ns, begin_ns + length_ns);
}

/* Ends what is read of the rank now: the run, or a burst. */
static void end_records(struct stream *stream, struct stream_rank *rank)
{
    stream->trace->processes[rank->rank].exhausted = true;
    rank->next_ns = INT64_MAX;
    if (stream->sink != NULL)
        advance(stream, rank, INT64_MAX);
}

static void take_records(struct stream *stream, struct stream_rank *rank, size_t limit)
{
    struct trace *trace = stream->trace;
    struct trace_process *process = &trace->processes[rank->rank];
    int64_t start_ns = stream->starts_ns[process->node];
    struct lane *lane;
    for (size_t n = 0; (lane = lanes_first(&rank->lanes)) != NULL; n++) {
        const struct spool_operation *record = (const void *)lane->record;
        if (trace->bursts.thinned && lane->place != stream->place)
            break;
        rank->next_ns = ticks_run_ns(trace, process, lane->ticks, &lane->clock_hint) - start_ns;
        if (rank->next_ns > stream->until_ns)
            return;
        bool second_half = *lane->record == SPOOL_OPERATION && (record->flags & SPOOL_SAME_CALL);
        if (n >= limit && !second_half) {
            stream->until_ns = rank->next_ns;
            return;
        }
        if (*lane->record == SPOOL_OPERATION)
            take_operation(stream, rank, lane);
        else if (stream->sink != NULL && *lane->record == SPOOL_IDLE)
            take_idle(stream, rank, lane);
        else if (stream->sink != NULL)
            take_call(stream, rank, lane);
        stream->n_read++;
        lanes_take(&rank->lanes, trace, lane);
    }
    end_records(stream, rank);
}

/* A window holds about so many operations, and at least so many for each rank: windows that fit a second-level cache
 * take half of the time of windows eight times as large. The last number is the most that one rank may have beyond its
 * share. */
enum { WINDOW_OPERATIONS = 2048, WINDOW_OPERATIONS_A_RANK = 4, WINDOW_OPERATIONS_OF_RANK = 64 };

static void keep_alone(void *context, uint32_t index)
{
    struct stream *stream = context;
    struct trace *trace = stream->trace;
    if (stream->sink != NULL)
        round_give_up(&stream->rounds, index);
    if (stream->sink == NULL || (trace->operations[index].flags & SPOOL_OFF)) {
        operation_written(trace, index);
        return;
    }
    array_reserve(&stream->alone, &stream->alone_capacity, stream->n_alone + 1, sizeof *stream->alone);
    stream->alone[stream->n_alone++] = index;
}

/* Leaves out one side of a message, since recording was off on this or the other side. */
static void leave_out(struct stream *stream, uint32_t index)
{
    struct trace_operation *operation = &stream->trace->operations[index];
    round_give_up(&stream->rounds, index);
    if (!(operation->flags & SPOOL_OFF)) {
        sink_operation_call(stream->sink, operation);
        marks_count(stream->trace, &stream->trace->operations[operation->partner], true);
    }
}

static void take_pair(void *context, uint32_t send_index, uint32_t receive_index)
{
    struct stream *stream = context;
    struct trace *trace = stream->trace;
    const struct trace_operation *send = &trace->operations[send_index], *receive = &trace->operations[receive_index];
    if (stream->sink != NULL && !((send->flags | receive->flags) & SPOOL_OFF)) {
        stream->n_paired++;
        round_match(&stream->rounds, receive_index);
        return;
    }
    if (stream->sink == NULL) {
        stream->message(stream->message_context, trace, send, receive);
    } else {
        leave_out(stream, send_index);
        leave_out(stream, receive_index);
    }
    operation_written(trace, send_index);
    operation_written(trace, receive_index);
}

static void stream_begin(struct stream *stream)
{
    struct trace *trace = stream->trace;
    trace->first_free = TRACE_NONE;
    trace->n_operations = 0;
    stream->matcher = (struct matcher){.trace = trace, .paired = take_pair, .alone = keep_alone, .context = stream};
    stream->ranks = xcalloc((size_t)trace->world_size, sizeof *stream->ranks);
    stream->starts_ns = xcalloc(trace->n_nodes, sizeof *stream->starts_ns);
    for (size_t i = 0; i < trace->n_nodes; i++)
        stream->starts_ns[i] = INT64_MAX;
    for (uint32_t i = 0; i < (uint32_t)trace->world_size; i++) {
        struct trace_process *process = &trace->processes[i];
        struct stream_rank *rank = &stream->ranks[i];
        rank->rank = i;
        rank->last = TRACE_NONE;
        rank->bounds_until_ns = INT64_MAX;
        rank->next_collective = rank->next_in_mpi = process->first_call;
        steps_begin(&rank->stepper, i);
        process->exhausted = process->spool == NULL;
        if (process->exhausted)
            continue;
        if (trace->bursts.thinned)
            outside_begin(&rank->lanes.outside, trace, &stream->matcher, i);
        lanes_begin(&rank->lanes, trace, process);
        /* Before clock_align the process knows its begin only by its node's own clock. */
        size_t hint = 0;
        int64_t begin_ns = ticks_run_ns(trace, process, process->spool->header.start.ticks, &hint);
        if (begin_ns < stream->starts_ns[process->node])
            stream->starts_ns[process->node] = begin_ns;
    }
}

static void stream_release(struct stream *stream)
{
    for (int32_t i = 0; i < stream->trace->world_size; i++) {
        struct stream_rank *rank = &stream->ranks[i];
        free(rank->lanes.lanes);
        outside_release(&rank->lanes.outside);
        timeline_release(&rank->timeline);
        background_release(&rank->background);
        steps_release(&rank->stepper);
    }
    match_release(&stream->matcher);
    rounds_release(&stream->rounds);
    free(stream->ranks);
    free(stream->starts_ns);
    free(stream->alone);
}

static int compare_sequence(const void *left, const void *right, void *context)
{
    const struct trace *trace = context;
    const struct trace_operation *a = &trace->operations[*(const uint32_t *)left];
    const struct trace_operation *b = &trace->operations[*(const uint32_t *)right];
    return ORDER(a->rank, b->rank) ?: ORDER(a->sequence, b->sequence);
}

/* Writes the rows of what the window completed. Returns 0, or -1: the database says why. */
static int write_window(struct stream *stream)
{
    struct trace *trace = stream->trace;
    rounds_write(&stream->rounds);
    if (stream->n_alone > 1)
        qsort_r(stream->alone, stream->n_alone, sizeof *stream->alone, compare_sequence, trace);
    for (size_t i = 0; i < stream->n_alone; i++) {
        uint32_t index = stream->alone[i], origin = trace->operations[index].origin;
        int64_t id = sink_unmatched(stream->sink, trace, index);
        if (origin != TRACE_NONE)
            trace->origins[origin].unmatched_id = id;
        operation_written(trace, index);
    }
    stream->n_alone = 0;
    return sink_flush(stream->sink);
}

/* Discards what is not needed any more: time in MPI is asked for from the open step on, and from the first event that
 * waits. */
static void forget_time_in_mpi(struct stream *stream, struct stream_rank *rank)
{
    const struct timeline_event *event = timeline_at(&rank->timeline, 0);
    if (rank->next_ns == INT64_MAX && event == NULL)
        return;
    int64_t before_ns =
        event != NULL ? event->at_ns : rank->next_ns + stream->starts_ns[stream->trace->processes[rank->rank].node];
    if (rank->stepper.step != TRACE_NONE && stream->trace->steps[rank->stepper.step].begin_ns < before_ns)
        before_ns = stream->trace->steps[rank->stepper.step].begin_ns;
    if (rank->stepper.call != 0 && rank->stepper.call_ns < before_ns)
        before_ns = rank->stepper.call_ns;
    time_in_mpi_forget(&stream->trace->processes[rank->rank].in_mpi, before_ns);
}

static size_t window_operations(const struct trace *trace)
{
    size_t of_ranks = WINDOW_OPERATIONS_A_RANK * (size_t)trace->world_size;
    return of_ranks > WINDOW_OPERATIONS ? of_ranks : WINDOW_OPERATIONS;
}

/* Reads one window; *left is true if there is more, which begins at *next_ns. */
static void read_window(struct stream *stream, bool *left, int64_t *next_ns)
{
    struct trace *trace = stream->trace;
    size_t limit = 4 * window_operations(trace) / (size_t)trace->world_size + WINDOW_OPERATIONS_OF_RANK;
    stream->n_read = 0;
    *left = false;
    *next_ns = INT64_MAX;
    for (int32_t i = 0; i < trace->world_size; i++) {
        struct stream_rank *rank = &stream->ranks[i];
        if (trace->processes[i].exhausted)
            continue;
        take_records(stream, rank, limit);
        if (stream->sink != NULL) {
            steps_advance(&rank->stepper, &stream->rounds, &rank->timeline, false);
            forget_time_in_mpi(stream, rank);
        }
        *left = *left || !trace->processes[i].exhausted;
        *next_ns = rank->next_ns < *next_ns ? rank->next_ns : *next_ns;
    }
    match_tidy(&stream->matcher);
}

/* Returns the length of a first window, from the size of the spools. */
static int64_t first_length_ns(const struct trace *trace)
{
    size_t records = 0;
    int64_t longest_ns = 1;
    for (int32_t i = 0; i < trace->world_size; i++) {
        const struct trace_process *process = &trace->processes[i];
        for (size_t k = 0; process->spool != NULL && k < process->spool->n_spans; k++)
            records += (process->spool->spans[k].end - process->spool->spans[k].begin) / sizeof(struct spool_operation);
        if (process->spool != NULL && process->end_ns - process->begin_ns > longest_ns)
            longest_ns = process->end_ns - process->begin_ns;
    }
    size_t windows = records / window_operations(trace);
    return windows <= 1 ? longest_ns : longest_ns / (int64_t)windows + 1;
}

/* Reads from next_ns on to the end of all spools, or of the burst, and finishes what is open there. Returns 0, or -1:
 * the database says why. */
static int read_part(struct stream *stream, int64_t next_ns)
{
    int64_t length_ns = first_length_ns(stream->trace);
    size_t wanted = window_operations(stream->trace);
    for (bool left = true; left;) {
        if (__builtin_add_overflow(next_ns, length_ns, &stream->until_ns))
            stream->until_ns = INT64_MAX;
        read_window(stream, &left, &next_ns);
        if (stream->sink != NULL && left && write_window(stream) != 0)
            return -1;
        if (stream->n_read < wanted / 2 && length_ns < INT64_MAX / 4)
            length_ns *= 2;
        else if (stream->n_read > 2 * wanted && length_ns > 1)
            length_ns /= 2;
    }
    match_end(&stream->matcher);
    for (int32_t i = 0; stream->sink != NULL && i < stream->trace->world_size; i++)
        steps_advance(&stream->ranks[i].stepper, &stream->rounds, &stream->ranks[i].timeline, true);
    return stream->sink == NULL ? 0 : write_window(stream);
}

/* Counts the records of the rank that lie before its next burst. */
static void skip_outside(struct stream *stream, struct stream_rank *rank)
{
    struct lane *lane;
    outside_count_passed(&rank->lanes.outside, &stream->matcher);
    while ((lane = lanes_first(&rank->lanes)) != NULL && !place_is_inside(lane->place)) {
        if (*lane->record == SPOOL_OPERATION &&
            !outside_count_record(&rank->lanes.outside, &stream->matcher, rank->rank, (const void *)lane->record)) {
            struct trace_operation operation = read_operation(stream->trace, rank->rank, lane);
            match_note_open(&stream->matcher, &operation);
        }
        lanes_take(&rank->lanes, stream->trace, lane);
        outside_count_passed(&rank->lanes.outside, &stream->matcher);
    }
}

/* Begins to read the burst on a rank; returns when its first record comes, INT64_MAX: it has none. */
static int64_t begin_burst(struct stream *stream, struct stream_rank *rank)
{
    struct trace *trace = stream->trace;
    struct trace_process *process = &trace->processes[rank->rank];
    struct lane *lane = lanes_first(&rank->lanes);
    process->exhausted = lane == NULL || lane->place != stream->place;
    rank->next_ns = INT64_MAX;
    if (process->exhausted)
        return INT64_MAX;
    const struct trace_node *node = &trace->nodes[process->node];
    rank->bounds_until_ns = clock_run_ns(node, burst_end_ns(trace, process, stream->place));
    return rank->next_ns =
               ticks_run_ns(trace, process, lane->ticks, &lane->clock_hint) - stream->starts_ns[process->node];
}

/* Forgets what is open at the end of a burst: nothing goes on behind it. */
static void end_burst(struct stream_rank *rank)
{
    uint32_t n_barriers = rank->stepper.n_barriers;
    timeline_release(&rank->timeline);
    background_release(&rank->background);
    steps_release(&rank->stepper);
    steps_begin(&rank->stepper, rank->rank);
    rank->stepper.n_barriers = n_barriers;
    rank->last = TRACE_NONE;
}

/* Reads the bursts, one after the other. Returns 0, or -1: the database says why. */
static int read_bursts(struct stream *stream)
{
    int32_t n = stream->trace->world_size;
    for (;;) {
        stream->place = INT64_MAX;
        for (int32_t i = 0; i < n; i++) {
            struct stream_rank *rank = &stream->ranks[i];
            if (rank->lanes.process == NULL)
                continue;
            skip_outside(stream, rank);
            const struct lane *lane = lanes_first(&rank->lanes);
            if (lane != NULL && lane->place < stream->place)
                stream->place = lane->place;
        }
        if (stream->place == INT64_MAX)
            return 0;
        stream->matcher.place = stream->place;
        int64_t next_ns = INT64_MAX;
        for (int32_t i = 0; i < n; i++) {
            int64_t begin_ns =
                stream->ranks[i].lanes.process == NULL ? INT64_MAX : begin_burst(stream, &stream->ranks[i]);
            next_ns = begin_ns < next_ns ? begin_ns : next_ns;
        }
        if (read_part(stream, next_ns) != 0)
            return -1;
        for (int32_t i = 0; i < n; i++)
            end_burst(&stream->ranks[i]);
    }
}

/* Returns 0, or -1: the database says why. */
static int read_all(struct stream *stream)
{
    return stream->trace->bursts.thinned ? read_bursts(stream) : read_part(stream, 0);
}

void stream_messages(struct trace *trace, stream_message *message, void *context)
{
    struct stream stream = {.trace = trace, .message = message, .message_context = context};
    stream_begin(&stream);
    read_all(&stream);
    stream_release(&stream);
}

int stream_run(struct trace *trace, struct sink *sink, struct error *error)
{
    struct stream stream = {.trace = trace, .sink = sink};
    int result = 0;
    rounds_begin(&stream.rounds, trace, sink);
    stream_begin(&stream);
    if (read_all(&stream) == 0 && sink->n_messages != stream.n_paired)
        result = error_set(error, "defect: %lld messages were found, %lld belong to a round or to none",
                           (long long)stream.n_paired, (long long)sink->n_messages);
    rounds_end(&stream.rounds);
    if (sink_end(sink) != 0 ||
        (result == 0 && doubts_write(stream.matcher.envelopes, stream.matcher.n_envelopes, sink) != 0))
        result = STREAM_DATABASE;
    stream_release(&stream);
    return result;
}

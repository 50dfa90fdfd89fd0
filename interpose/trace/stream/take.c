/* Takes the records of one rank. An operation gets its place in the pool, the times of the run, its communicator and
 * call site. It goes to the matcher, which pairs it, and onto the rank's timeline, from which steps are made. A
 * timeline is in the order of time though completions are known only with the operation: they wait (timeline.c) until
 * the reading has come to their time, as collectives do, which are in memory from the first reading on. A completion
 * call becomes a row of `call` and an event that tells how what follows was waited for. Time inside MPI is added up
 * beside this, from whatever was recorded (time_in_mpi.c). */
#include "interpose/trace/stream/take.h"

#include "interpose/trace/gather/nodes.h"
#include "interpose/trace/communicators/communicators.h"
#include "interpose/trace/records/marks.h"
#include "interpose/trace/records/accesses.h"
#include "interpose/trace/records/sums.h"
#include "interpose/trace/site/callsite.h"

static int64_t run_ns(const struct trace *trace, const struct trace_process *process, struct lane *lane, uint64_t ticks)
{
    const struct trace_node *node = &trace->nodes[process->node];
    return clock_run_ns(node, clock_ns(node, process, ticks, &lane->clock_hint));
}

/* Adds to the time in MPI what is not on the timeline. */
static void add_time_in_mpi_until(struct stream *stream, struct stream_rank *rank, int64_t until_ns)
{
    struct trace *trace = stream->trace;
    struct trace_process *process = &trace->processes[rank->rank];
    for (;;) {
        const struct trace_collective *collective =
            rank->next_in_mpi < process[1].first_collective ? &trace->collectives[rank->next_in_mpi] : NULL;
        const struct trace_access *access =
            rank->next_access < process[1].first_access ? &trace->accesses[rank->next_access] : NULL;
        int64_t collective_ns = collective == NULL ? INT64_MAX : collective->begin_ns;
        int64_t access_ns = access == NULL ? INT64_MAX : access_run_ns(trace, access, access->begin_ns);
        if (collective != NULL && collective_ns <= until_ns && collective_ns <= access_ns) {
            rank->next_in_mpi++;
            time_in_mpi_add(&process->in_mpi, collective_ns, collective->call_end_ns);
        } else if (access != NULL && access_ns <= until_ns) {
            rank->next_access++;
            time_in_mpi_add(&process->in_mpi, access_ns, access_run_ns(trace, access, access->call_end_ns));
        } else {
            return;
        }
    }
}

/* Puts completions and collectives up to a moment on the timeline. At one and the same time completions come first,
 * then collectives, then posts. */
static void advance(struct stream *stream, struct stream_rank *rank, int64_t until_ns)
{
    struct trace *trace = stream->trace;
    size_t end = trace->processes[rank->rank + 1].first_collective;
    for (;;) {
        while (rank->next_collective < end && !collective_bounds(&trace->collectives[rank->next_collective]))
            rank->next_collective++;
        int64_t collective_ns =
            rank->next_collective < end ? trace->collectives[rank->next_collective].begin_ns : INT64_MAX;
        const struct timeline_due *due = rank->timeline.n_due > 0 ? &rank->timeline.due[0] : NULL;
        if (due != NULL && due->at_ns <= until_ns && due->at_ns <= collective_ns) {
            struct timeline_event event = {due->at_ns, due->operation, EVENT_COMPLETE};
            timeline_arrived(&rank->timeline);
            background_complete(&rank->background, trace, event.index);
            timeline_add(&rank->timeline, event);
        } else if (rank->next_collective < end && collective_ns <= until_ns) {
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
    /* Nobody waits for the end of a freed request: it holds no step open beyond its call. */
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

static void take_operation(struct stream *stream, struct stream_rank *rank, struct lane *lane)
{
    struct trace *trace = stream->trace;
    struct trace_process *process = &trace->processes[rank->rank];
    const struct spool_operation *record = (const void *)lane->record;
    uint32_t index = operation_new(trace);
    uint32_t communicator = process->communicators[record->communicator];
    uint32_t callsite = callsite_find(&process->callsites, record->site, record->post_ticks);
    struct trace_operation *operation = &trace->operations[index];
    *operation = (struct trace_operation){
        .post_ns = run_ns(trace, process, lane, record->post_ticks),
        .post_end_ns = run_ns(trace, process, lane, post_end_ticks(record)),
        .complete_ns =
            record->complete_ticks == 0 ? TRACE_NO_TIME : run_ns(trace, process, lane, record->complete_ticks),
        .bytes = record->bytes,
        .sequence = ++rank->n_operations,
        .rank = rank->rank,
        .communicator = communicator_context(trace, communicator),
        .peer = record->peer,
        .peer_world = communicator_world_rank(trace, communicator, record->peer),
        .tag = record->tag,
        .partner = TRACE_NONE,
        .callsite = callsite,
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
    judge_failure(operation, lane);
    bool off = (record->flags & SPOOL_OFF) != 0;
    operation->counts = !off && operation->peer_world >= 0 && operation->peer_world != (int32_t)rank->rank;
    operation->completed = completed_by(trace, rank, operation);
    rank->last = index;
    operation->passed = stream->sink == NULL || off;
    if (stream->sink == NULL) {
        match_operation(&stream->matcher, index);
        return;
    }
    if (off) {
        marks_count(trace, operation);
        sums_add_operation(trace, operation);
    }
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
    int64_t begin_ns = run_ns(trace, process, lane, record->begin_ticks);
    int64_t end_ns = run_ns(trace, process, lane, record->begin_ticks + record->call_ticks);
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

/* Takes unsuccessful tests. Nobody knows where each of them lay in the time until the lane's next record, only how long
 * they were together. */
static void take_idle(struct stream *stream, struct stream_rank *rank, struct lane *lane)
{
    struct trace *trace = stream->trace;
    struct trace_process *process = &trace->processes[rank->rank];
    const struct spool_idle *record = (const void *)lane->record;
    int64_t begin_ns = run_ns(trace, process, lane, record->begin_ticks);
    int64_t length_ns = run_ns(trace, process, lane, record->begin_ticks + record->ticks) - begin_ns;
    uint32_t callsite =
        callsite_find_sum(&process->callsites, record->site, record->begin_ticks, record->begin_ticks + record->ticks);
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

void take_records(struct stream *stream, struct stream_rank *rank, size_t limit)
{
    struct trace *trace = stream->trace;
    struct trace_process *process = &trace->processes[rank->rank];
    int64_t start_ns = stream->starts_ns[process->node];
    struct lane *lane;
    for (size_t n = 0; (lane = lanes_first(&rank->lanes)) != NULL; n++) {
        const struct spool_operation *record = (const void *)lane->record;
        rank->next_ns = run_ns(trace, process, lane, lane->ticks) - start_ns;
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
    process->exhausted = true;
    rank->next_ns = INT64_MAX;
    if (stream->sink != NULL)
        advance(stream, rank, INT64_MAX);
}

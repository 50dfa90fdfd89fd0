/* Reads all ranks side by side, window by window: of each rank the records up to a moment of the run. At the end of a
 * window the rows of everything that is complete are handed to the sink, and what they stood for is forgotten. Where a
 * window ends does not matter to what is found, only to the order of ids. The windows' lengths follow the density of
 * records, and a rank that has very many records in one ends it for all. */
#include "interpose/trace/stream/stream.h"

#include <stdlib.h>

#include "interpose/trace/gather/nodes.h"
#include "interpose/trace/records/marks.h"
#include "interpose/trace/stream/round_write.h"
#include "interpose/trace/stream/take.h"
#include "share/base/array.h"
#include "share/base/memory.h"

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
        marks_count_partner(stream->trace, &stream->trace->operations[operation->partner]);
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
        rank->next_collective = rank->next_in_mpi = process->first_collective;
        rank->next_access = process->first_access;
        steps_begin(&rank->stepper, i);
        process->exhausted = process->spool == NULL;
        if (process->exhausted)
            continue;
        lanes_begin(&rank->lanes, trace, process);
        /* Before clock_align the process knows its begin only by its node's own clock. */
        size_t hint = 0;
        const struct trace_node *node = &trace->nodes[process->node];
        int64_t begin_ns = clock_run_ns(node, clock_ns(node, process, process->spool->header.start.ticks, &hint));
        if (begin_ns < stream->starts_ns[process->node])
            stream->starts_ns[process->node] = begin_ns;
    }
}

static void stream_release(struct stream *stream)
{
    for (int32_t i = 0; i < stream->trace->world_size; i++) {
        struct stream_rank *rank = &stream->ranks[i];
        lanes_release(&rank->lanes);
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
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
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

/* Forgets what nobody will ask about: time in MPI is asked for from the open step on, and from the first event that
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

/* Reads one window; *left tells whether there is more, and *next_ns when it begins. */
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

/* Reads to the end of all spools and finishes what is open there. Returns 0, or -1: the database says why. */
static int read_all(struct stream *stream)
{
    int64_t length_ns = first_length_ns(stream->trace), next_ns = 0;
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
    if (sink_end(sink) != 0 ||
        (result == 0 && doubts_write(stream.matcher.envelopes, stream.matcher.n_envelopes, sink->database) != 0))
        result = STREAM_DATABASE;
    stream_release(&stream);
    return result;
}

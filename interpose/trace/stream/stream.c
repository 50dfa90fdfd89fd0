/* Reads all ranks side by side, window by window: of each rank the records up to a moment of the run, or, where it has
 * very many, as many as may be. At the end of a window the rows of everything that is complete are handed to the sink,
 * and what they stood for is forgotten. Where a window ends does not matter to what is found, only to the order of ids;
 * the windows' lengths follow the density of records, never the threads, so that ids do not depend on these. */
#include "interpose/trace/stream/stream.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/trace/gather/nodes.h"
#include "interpose/trace/records/records.h"
#include "interpose/trace/stream/ahead.h"
#include "interpose/trace/stream/behind.h"
#include "interpose/trace/stream/match.h"
#include "interpose/trace/stream/rank_reading.h"
#include "interpose/trace/stream/round.h"
#include "interpose/trace/rows/sink.h"
#include "interpose/trace/state/trace.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"

struct stream {
    struct trace *trace;
    struct matcher matcher;
    struct rounds rounds;
    struct sink *sink; /* NULL: only messages are wanted */
    struct behind behind;
    void (*message)(void *context, const struct trace *trace, const struct trace_operation *send,
                    const struct trace_operation *receive);
    void *message_context;
    struct rank_reading *readings; /* [world_size] */
    struct noted_rank *noted;      /* [world_size] */
    struct ahead *ahead;           /* NULL: nothing is read ahead */
    struct rank_window found;      /* what a rank did, where nothing is read ahead */
    uint32_t *alone;               /* [n_alone] operations without a partner, of this window */
    size_t n_alone;
    size_t alone_capacity;
    struct window window;
    int64_t length_ns; /* of windows */
    int64_t n_paired;  /* messages that must be written */
};

/* A window holds about so many operations, and at least so many for each rank: windows that fit a second-level cache
 * take half of the time of windows eight times as large, and shorter ones cost threads more handovers. The last number
 * is the most that one rank may have beyond its share. Where only messages are wanted, most operations are passed over,
 * and windows are larger. */
enum {
    WINDOW_OPERATIONS = 4096,
    WINDOW_OPERATIONS_PASSED = 16384,
    WINDOW_OPERATIONS_A_RANK = 4,
    WINDOW_OPERATIONS_OF_RANK = 64
};

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
        struct complete_rows *complete = behind_filling(&stream->behind);
        array_reserve(&complete->left_out, &complete->left_out_capacity, complete->n_left_out + 1,
                      sizeof *complete->left_out);
        complete->left_out[complete->n_left_out++] = *operation;
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

/* Keeps the calls of a rank until they become rows. */
static void keep_calls(struct stream *stream, const struct rank_window *found)
{
    struct complete_rows *complete = behind_filling(&stream->behind);
    if (!stream->sink->calls || found->n_calls == 0)
        return;
    array_reserve(&complete->calls, &complete->calls_capacity, complete->n_calls + found->n_calls,
                  sizeof *complete->calls);
    memcpy(complete->calls + complete->n_calls, found->calls, found->n_calls * sizeof *found->calls);
    complete->n_calls += found->n_calls;
}

/* Takes what a rank did in the window. An operation gets its place in the pool and goes to the matcher, which pairs it;
 * then its rank's steps make rounds. */
static void take_rank(struct stream *stream, uint32_t number, const struct rank_window *found)
{
    struct trace *trace = stream->trace;
    struct noted_rank *rank = &stream->noted[number];
    stream->matcher.is_uncounted = stream->readings[number].lanes.outside.is_uncounted;
    for (size_t i = 0; i < found->n_operations; i++) {
        uint32_t index = operation_new(trace), posted = found->operations[i].posted;
        trace->operations[index] = found->operations[i];
        if (posted != TRACE_NONE) {
            if (posted >= rank->capacity)
                array_reserve(&rank->operations, &rank->capacity, (size_t)posted + 1, sizeof *rank->operations);
            rank->operations[posted] = index;
        }
        if (stream->sink != NULL && (trace->operations[index].flags & SPOOL_OFF))
            marks_count(trace, &trace->operations[index], false);
        match_operation(&stream->matcher, index);
    }
    if (stream->sink != NULL) {
        keep_calls(stream, found);
        rounds_take_notes(&stream->rounds, rank, &found->notes);
    }
    if (found->next_ns == INT64_MAX)
        trace->processes[number].exhausted = true;
}

/* Finds when the earliest process of each node begins, from which its windows count. */
static void find_starts(struct stream *stream)
{
    const struct trace *trace = stream->trace;
    int64_t *starts_ns = xcalloc(trace->n_nodes, sizeof *starts_ns);
    for (size_t i = 0; i < trace->n_nodes; i++)
        starts_ns[i] = INT64_MAX;
    for (int32_t i = 0; i < trace->world_size; i++) {
        const struct trace_process *process = &trace->processes[i];
        if (process->spool == NULL)
            continue;
        /* Before clock_align the process knows its begin only by its node's own clock. */
        size_t hint = 0;
        int64_t begin_ns = ticks_run_ns(trace, process, process->spool->header.start.ticks, &hint);
        if (begin_ns < starts_ns[process->node])
            starts_ns[process->node] = begin_ns;
    }
    for (int32_t i = 0; i < trace->world_size; i++)
        if (trace->processes[i].spool != NULL)
            stream->readings[i].start_ns = starts_ns[trace->processes[i].node];
    free(starts_ns);
}

static void stream_begin(struct stream *stream, size_t jobs)
{
    struct trace *trace = stream->trace;
    size_t n = (size_t)trace->world_size;
    trace->first_free = TRACE_NONE;
    trace->n_operations = 0;
    stream->matcher = (struct matcher){.trace = trace, .paired = take_pair, .alone = keep_alone, .context = stream};
    stream->readings = xcalloc(n, sizeof *stream->readings);
    stream->noted = xcalloc(n, sizeof *stream->noted);
    for (uint32_t i = 0; i < n; i++) {
        trace->processes[i].exhausted = trace->processes[i].spool == NULL;
        stream->noted[i] = (struct noted_rank){.rank = i, .step = TRACE_NONE};
        reading_begin(&stream->readings[i], trace, i, stream->sink == NULL, &stream->matcher);
    }
    find_starts(stream);
    stream->ahead = ahead_begin(stream->readings, n, jobs - 1);
}

static void stream_release(struct stream *stream)
{
    ahead_end(stream->ahead);
    for (int32_t i = 0; i < stream->trace->world_size; i++) {
        reading_release(&stream->readings[i]);
        free(stream->noted[i].operations);
    }
    rank_window_release(&stream->found);
    match_release(&stream->matcher);
    rounds_release(&stream->rounds);
    free(stream->readings);
    free(stream->noted);
    free(stream->alone);
}

static int compare_sequence(const void *left, const void *right, void *context)
{
    const struct trace *trace = context;
    const struct trace_operation *a = &trace->operations[*(const uint32_t *)left];
    const struct trace_operation *b = &trace->operations[*(const uint32_t *)right];
    return ORDER(a->rank, b->rank) ?: ORDER(a->sequence, b->sequence);
}

/* Has rows made of what the window completed. Returns 0, or -1: the database says why. */
static int write_window(struct stream *stream)
{
    struct trace *trace = stream->trace;
    struct complete_rows *complete = behind_filling(&stream->behind);
    rounds_move_complete(&stream->rounds, complete);
    if (stream->n_alone > 1)
        qsort_r(stream->alone, stream->n_alone, sizeof *stream->alone, compare_sequence, trace);
    array_reserve(&complete->alone, &complete->alone_capacity, stream->n_alone, sizeof *complete->alone);
    for (size_t i = 0; i < stream->n_alone; i++) {
        complete->alone[complete->n_alone++] = trace->operations[stream->alone[i]];
        operation_written(trace, stream->alone[i]);
    }
    stream->n_alone = 0;
    return behind_write(&stream->behind);
}

static size_t window_operations(const struct stream *stream)
{
    size_t of_ranks = WINDOW_OPERATIONS_A_RANK * (size_t)stream->trace->world_size;
    size_t least = stream->sink != NULL ? WINDOW_OPERATIONS : WINDOW_OPERATIONS_PASSED;
    return of_ranks > least ? of_ranks : least;
}

/* Returns the length of a first window, from the size of the spools. */
static int64_t first_length_ns(const struct stream *stream)
{
    const struct trace *trace = stream->trace;
    size_t records = 0;
    int64_t longest_ns = 1;
    for (int32_t i = 0; i < trace->world_size; i++) {
        const struct trace_process *process = &trace->processes[i];
        for (size_t k = 0; process->spool != NULL && k < process->spool->n_spans; k++)
            records += (process->spool->spans[k].end - process->spool->spans[k].begin) / sizeof(struct spool_operation);
        if (process->spool != NULL && process->end_ns - process->begin_ns > longest_ns)
            longest_ns = process->end_ns - process->begin_ns;
    }
    size_t windows = records / window_operations(stream);
    return windows <= 1 ? longest_ns : longest_ns / (int64_t)windows + 1;
}

/* Begins with a window of that time; threads read it, where there are any. */
static void begin_window(struct stream *stream, int64_t begin_ns)
{
    if (__builtin_add_overflow(begin_ns, stream->length_ns, &stream->window.until_ns))
        stream->window.until_ns = INT64_MAX;
    if (stream->ahead != NULL)
        ahead_read(stream->ahead, stream->window);
}

/* Sets the length of the windows that follow one of so many records. */
static void set_length(struct stream *stream, size_t n_read)
{
    size_t wanted = window_operations(stream);
    if (n_read < wanted / 2 && stream->length_ns < INT64_MAX / 4)
        stream->length_ns *= 2;
    else if (n_read > 2 * wanted && stream->length_ns > 1)
        stream->length_ns /= 2;
}

/* Takes the window, and begins with the next one: threads read that meanwhile, else each rank is taken as soon as it is
 * read. Returns false behind the last window. */
static bool take_window(struct stream *stream)
{
    uint32_t n_ranks = (uint32_t)stream->trace->world_size;
    size_t n_read = 0;
    int64_t next_ns = INT64_MAX;
    const struct rank_window *all = stream->ahead != NULL ? ahead_wait(stream->ahead) : NULL;
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        const struct rank_window *found = all != NULL ? &all[rank] : &stream->found;
        if (stream->trace->processes[rank].exhausted)
            continue;
        if (all == NULL) {
            reading_take(&stream->readings[rank], &stream->window, &stream->found);
            take_rank(stream, rank, found);
        }
        n_read += found->n_read;
        next_ns = found->next_ns < next_ns ? found->next_ns : next_ns;
    }
    set_length(stream, n_read);
    if (next_ns != INT64_MAX)
        begin_window(stream, next_ns);
    for (uint32_t rank = 0; all != NULL && rank < n_ranks; rank++)
        if (!stream->trace->processes[rank].exhausted)
            take_rank(stream, rank, &all[rank]);
    match_tidy(&stream->matcher);
    return next_ns != INT64_MAX;
}

/* Reads from next_ns on to the end of all spools, or of the burst, and finishes what is open there. Returns 0, or -1:
 * the database says why. */
static int read_part(struct stream *stream, int64_t next_ns)
{
    struct trace *trace = stream->trace;
    stream->length_ns = first_length_ns(stream);
    stream->window.limit = 4 * window_operations(stream) / (size_t)trace->world_size + WINDOW_OPERATIONS_OF_RANK;
    begin_window(stream, next_ns);
    while (take_window(stream))
        if (stream->sink != NULL && write_window(stream) != 0)
            return -1;
    match_end(&stream->matcher);
    for (uint32_t rank = 0; stream->sink != NULL && rank < (uint32_t)trace->world_size; rank++) {
        reading_end(&stream->readings[rank], &stream->found);
        rounds_take_notes(&stream->rounds, &stream->noted[rank], &stream->found.notes);
    }
    return stream->sink == NULL ? 0 : write_window(stream);
}

/* Forgets what is open at the end of a burst. */
static void end_burst(struct stream *stream, uint32_t rank)
{
    reading_end_burst(&stream->readings[rank]);
    stream->noted[rank].step = TRACE_NONE;
}

/* Reads the bursts, one after the other. Returns 0, or -1: the database says why. */
static int read_bursts(struct stream *stream)
{
    struct trace *trace = stream->trace;
    uint32_t n = (uint32_t)trace->world_size;
    for (;;) {
        stream->window.place = INT64_MAX;
        for (uint32_t i = 0; i < n; i++) {
            int64_t place = trace->processes[i].spool == NULL
                                ? INT64_MAX
                                : reading_skip_outside(&stream->readings[i], &stream->matcher);
            stream->window.place = place < stream->window.place ? place : stream->window.place;
        }
        if (stream->window.place == INT64_MAX)
            return 0;
        stream->matcher.place = stream->window.place;
        int64_t next_ns = INT64_MAX;
        for (uint32_t i = 0; i < n; i++) {
            int64_t begin_ns = trace->processes[i].spool == NULL
                                   ? INT64_MAX
                                   : reading_begin_burst(&stream->readings[i], stream->window.place);
            trace->processes[i].exhausted = begin_ns == INT64_MAX;
            next_ns = begin_ns < next_ns ? begin_ns : next_ns;
        }
        if (read_part(stream, next_ns) != 0)
            return -1;
        for (uint32_t i = 0; i < n; i++)
            end_burst(stream, i);
    }
}

/* Returns 0, or -1: the database says why. */
static int read_all(struct stream *stream)
{
    return stream->trace->bursts.thinned ? read_bursts(stream) : read_part(stream, 0);
}

void stream_messages(struct trace *trace, size_t jobs, stream_message *message, void *context)
{
    struct stream stream = {.trace = trace, .message = message, .message_context = context};
    stream_begin(&stream, jobs);
    read_all(&stream);
    stream_release(&stream);
}

int stream_run(struct trace *trace, struct sink *sink, size_t jobs, struct error *error)
{
    struct stream stream = {.trace = trace, .sink = sink};
    int result = 0;
    rounds_begin(&stream.rounds, trace);
    behind_begin(&stream.behind, trace, sink, jobs > 1);
    stream_begin(&stream, jobs);
    int read = read_all(&stream);
    if (behind_end(&stream.behind) == 0 && read == 0 && sink->n_messages != stream.n_paired)
        result = error_set(error, "defect: %lld messages were found, %lld belong to a round or to none",
                           (long long)stream.n_paired, (long long)sink->n_messages);
    if (sink_end(sink) != 0 ||
        (result == 0 && doubts_write(stream.matcher.envelopes, stream.matcher.n_envelopes, sink) != 0))
        result = STREAM_DATABASE;
    behind_release(&stream.behind);
    stream_release(&stream);
    return result;
}

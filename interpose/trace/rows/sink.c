/* Finding rows need not wait for SQLite, so a thread of its own inserts them: one batch fills while the other is
 * inserted. */
#include "interpose/trace/rows/sink.h"

#include <stdlib.h>

#include "interpose/trace/gather/place.h"
#include "share/base/array.h"

static int insert_batch(struct feed *feeds, const struct sink_batch *batch)
{
    return feed_insert(&feeds[ROWS_MESSAGE], batch->messages, batch->n_messages) != 0 ||
                   feed_insert(&feeds[ROWS_UNMATCHED], batch->unmatched, batch->n_unmatched) != 0 ||
                   feed_insert(&feeds[ROWS_CALL], batch->calls, batch->n_calls) != 0 ||
                   feed_insert(&feeds[ROWS_ROUND], batch->rounds, batch->n_rounds) != 0 ||
                   feed_insert(&feeds[ROWS_MEMBER], batch->members, batch->n_members) != 0
               ? -1
               : 0;
}

static void *insert_batches(void *argument)
{
    struct sink *sink = argument;
    struct feed feeds[ROWS_TABLES];
    rows_feeds(feeds);
    bool failed = false;
    for (size_t i = 0; i < ROWS_TABLES; i++)
        failed = failed || feed_begin(&feeds[i], sink->database) != 0;
    pthread_mutex_lock(&sink->lock);
    for (;;) {
        while (!sink->full && !sink->ended)
            pthread_cond_wait(&sink->changed, &sink->lock);
        if (!sink->full)
            break;
        const struct sink_batch *batch = &sink->batches[1 - sink->filling];
        pthread_mutex_unlock(&sink->lock);
        /* The database tells of the first failure. */
        failed = failed || insert_batch(feeds, batch) != 0;
        pthread_mutex_lock(&sink->lock);
        sink->failed = failed;
        sink->full = false;
        pthread_cond_broadcast(&sink->changed);
    }
    pthread_mutex_unlock(&sink->lock);
    for (size_t i = 0; i < ROWS_TABLES; i++)
        feed_end(&feeds[i]);
    return NULL;
}

int sink_begin(struct sink *sink, sqlite3 *database, bool calls)
{
    *sink = (struct sink){.database = database, .calls = calls};
    pthread_mutex_init(&sink->lock, NULL);
    pthread_cond_init(&sink->changed, NULL);
    int result = pthread_create(&sink->thread, NULL, insert_batches, sink);
    sink->running = result == 0;
    return result;
}

static void empty_batch(struct sink_batch *batch)
{
    batch->n_messages = batch->n_calls = batch->n_rounds = batch->n_members = batch->n_unmatched = 0;
}

int sink_flush(struct sink *sink)
{
    pthread_mutex_lock(&sink->lock);
    while (sink->full)
        pthread_cond_wait(&sink->changed, &sink->lock);
    bool failed = sink->failed;
    if (!failed) {
        sink->filling = 1 - sink->filling;
        empty_batch(&sink->batches[sink->filling]);
        sink->full = true;
        pthread_cond_broadcast(&sink->changed);
    }
    pthread_mutex_unlock(&sink->lock);
    return failed ? -1 : 0;
}

static void release_batch(struct sink_batch *batch)
{
    free(batch->messages);
    free(batch->calls);
    free(batch->rounds);
    free(batch->members);
    free(batch->unmatched);
    *batch = (struct sink_batch){0};
}

int sink_end(struct sink *sink)
{
    int result = 0;
    if (sink->running) {
        result = sink_flush(sink);
        pthread_mutex_lock(&sink->lock);
        sink->ended = true;
        pthread_cond_broadcast(&sink->changed);
        pthread_mutex_unlock(&sink->lock);
        pthread_join(sink->thread, NULL);
        sink->running = false;
        if (sink->failed)
            result = -1;
        if (result == 0)
            result = forms_write(&sink->forms, sink->database);
    }
    release_batch(&sink->batches[0]);
    release_batch(&sink->batches[1]);
    forms_release(&sink->forms);
    return result;
}

static int64_t length_of(int64_t begin_ns, int64_t end_ns)
{
    return end_ns == TRACE_NO_TIME ? TRACE_NO_TIME : end_ns - begin_ns;
}

/* Returns the form of a message: what it has in common with others. */
static int64_t form_of_message(struct sink *sink, const struct trace *trace, const struct trace_operation *send,
                               const struct trace_operation *receive)
{
    struct form form = {.level = message_level(trace, send, receive),
                        .send_callsite = send->callsite,
                        .recv_callsite = receive->callsite,
                        .send_function = send->function,
                        .recv_function = receive->function,
                        .send_completed = send->completed,
                        .recv_completed = receive->completed,
                        .any_source = (receive->flags & SPOOL_ANY_SOURCE) != 0,
                        .any_tag = (receive->flags & SPOOL_ANY_TAG) != 0,
                        .uncertain = receive->uncertain,
                        .send_memory = send->memory,
                        .recv_memory = receive->memory};
    return form_of(&sink->forms, &form);
}

int64_t sink_message(struct sink *sink, struct trace *trace, uint32_t index, int64_t round)
{
    struct sink_batch *batch = &sink->batches[sink->filling];
    const struct trace_operation *receive = &trace->operations[index], *send = &trace->operations[receive->partner];
    array_reserve(&batch->messages, &batch->messages_capacity, batch->n_messages + 1, sizeof *batch->messages);
    batch->messages[batch->n_messages++] = (struct message_row){
        .id = ++sink->n_messages,
        .round = round,
        .form = form_of_message(sink, trace, send, receive),
        .send_post_ns = send->post_ns,
        .send_ns = length_of(send->post_ns, send->complete_ns),
        .late_ns = receive->post_ns - send->post_ns,
        .recv_ns = length_of(receive->post_ns, receive->complete_ns),
        .send_call_ns = sink->calls ? send->post_end_ns - send->post_ns : TRACE_NO_TIME,
        .recv_call_ns = sink->calls ? receive->post_end_ns - receive->post_ns : TRACE_NO_TIME,
        .bytes = send->bytes,
        .room_bytes = (int64_t)(receive->bytes - send->bytes),
        .src = send->rank,
        .dst = receive->rank,
        .communicator = receive->communicator,
        .tag = send->tag,
        .send_cpu = send->cpu_post,
        .recv_cpu = receive->cpu_post,
    };
    return sink->n_messages;
}

void sink_operation_call(struct sink *sink, const struct trace_operation *operation)
{
    if (operation->completed >= 0)
        sink_call(sink, (struct call_row){.begin_ns = operation->post_ns,
                                          .call_ns = operation->post_end_ns - operation->post_ns,
                                          .rank = operation->rank,
                                          .completed = (uint32_t)operation->completed,
                                          .callsite = operation->callsite,
                                          .function = operation->function});
}

int64_t sink_unmatched(struct sink *sink, struct trace *trace, uint32_t index)
{
    struct sink_batch *batch = &sink->batches[sink->filling];
    const struct trace_operation *operation = &trace->operations[index];
    array_reserve(&batch->unmatched, &batch->unmatched_capacity, batch->n_unmatched + 1, sizeof *batch->unmatched);
    batch->unmatched[batch->n_unmatched++] = (struct unmatched_row){
        .id = ++sink->n_unmatched,
        .post_ns = operation->post_ns,
        .complete_ns = operation->complete_ns,
        .bytes = operation->bytes,
        .rank = operation->rank,
        .peer_world = operation->peer_world,
        .communicator = operation->communicator,
        .tag = operation->tag,
        .callsite = operation->callsite,
        .function = operation->function,
        .direction = operation->direction,
        .reason = operation->reason,
    };
    sink_operation_call(sink, operation);
    return sink->n_unmatched;
}

void sink_call(struct sink *sink, struct call_row row)
{
    struct sink_batch *batch = &sink->batches[sink->filling];
    if (!sink->calls)
        return;
    array_reserve(&batch->calls, &batch->calls_capacity, batch->n_calls + 1, sizeof row);
    batch->calls[batch->n_calls++] = row;
}

void sink_round(struct sink *sink, struct round_row row)
{
    struct sink_batch *batch = &sink->batches[sink->filling];
    array_reserve(&batch->rounds, &batch->rounds_capacity, batch->n_rounds + 1, sizeof row);
    batch->rounds[batch->n_rounds++] = row;
}

void sink_member(struct sink *sink, struct member_row row)
{
    struct sink_batch *batch = &sink->batches[sink->filling];
    array_reserve(&batch->members, &batch->members_capacity, batch->n_members + 1, sizeof row);
    batch->members[batch->n_members++] = row;
}

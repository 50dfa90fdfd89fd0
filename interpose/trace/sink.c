#include "sink.h"

#include <stdlib.h>
#include <string.h>

#include "place.h"
#include "row.h"

struct message_row {
    int64_t id;
    int64_t round; /* 0: none */
    int64_t form;
    int64_t send_post_ns;
    int64_t send_ns;
    int64_t late_ns;
    int64_t recv_ns;
    int64_t send_call_ns;
    int64_t recv_call_ns;
    uint64_t bytes;
    int64_t room_bytes;
    uint32_t src;
    uint32_t dst;
    uint32_t communicator;
    int32_t tag;
    int16_t send_cpu;
    int16_t recv_cpu;
};

struct unmatched_row {
    int64_t id;
    int64_t post_ns;
    int64_t complete_ns;
    uint64_t bytes;
    uint32_t rank;
    int32_t peer_world;
    uint32_t communicator;
    int32_t tag;
    uint32_t callsite;
    uint16_t function;
    uint8_t direction;
    uint8_t reason;
};

/* The statements of the inserting thread. */
struct sink_rows {
    struct row message;
    struct row call;
    struct row round;
    struct row member;
    struct row unmatched;
};

static const char *reason_name(uint8_t reason)
{
    static const char *const names[] = {
        [REASON_MATCHED] = "unmatched", [REASON_PARTNER_LOST] = "partner_lost", [REASON_CANCELLED] = "cancelled",
        [REASON_FAILED] = "failed",     [REASON_PROC_NULL] = "proc_null",       [REASON_FREED] = "freed",
        [REASON_PENDING] = "pending",   [REASON_UNMATCHED] = "unmatched"};
    return names[reason];
}

static void insert_message(struct row *row, const struct message_row *message)
{
    row_insert(row, "iiiiiiioioioinnoo", message->id, (int64_t)message->src, (int64_t)message->dst,
               (int64_t)message->communicator, (int64_t)message->tag, (int64_t)message->bytes, message->form,
               message->round == 0 ? TRACE_NO_TIME : message->round, message->send_post_ns, message->send_ns,
               message->late_ns, message->recv_ns, message->room_bytes, (int32_t)message->send_cpu,
               (int32_t)message->recv_cpu, message->send_call_ns, message->recv_call_ns);
}

static void insert_unmatched(struct row *row, const struct unmatched_row *operation)
{
    row_insert(row, "iitniuitiotu", operation->id, (int64_t)operation->rank,
               operation->direction == SPOOL_SEND ? "send" : "receive", operation->peer_world,
               (int64_t)operation->communicator, operation->tag < 0 ? TRACE_NONE : (uint32_t)operation->tag,
               (int64_t)operation->bytes, reason_name(operation->reason), operation->post_ns, operation->complete_ns,
               function_name(operation->function), operation->callsite);
}

static void insert_batch(struct sink_rows *rows, const struct sink_batch *batch)
{
    for (size_t i = 0; i < batch->n_messages; i++)
        insert_message(&rows->message, &batch->messages[i]);
    for (size_t i = 0; i < batch->n_unmatched; i++)
        insert_unmatched(&rows->unmatched, &batch->unmatched[i]);
    for (size_t i = 0; i < batch->n_calls; i++) {
        const struct call_row *call = &batch->calls[i];
        row_insert(&rows->call, "iiiiiiu", (int64_t)call->rank, function_id(call->function), call->begin_ns,
                   call->call_ns, (int64_t)call->completed, (int64_t)call->idle_calls, call->callsite);
    }
    for (size_t i = 0; i < batch->n_rounds; i++) {
        const struct round_row *round = &batch->rounds[i];
        row_insert(&rows->round, "iiii", round->id, (int64_t)round->kind + 1, round->begin_ns, round->end_ns);
    }
    for (size_t i = 0; i < batch->n_members; i++) {
        const struct member_row *member = &batch->members[i];
        row_insert(&rows->member, "iiiii", member->round, (int64_t)member->rank, member->begin_ns, member->end_ns,
                   member->in_mpi_ns);
    }
}

static void *insert_batches(void *argument)
{
    struct sink *sink = argument;
    struct sink_rows rows = {.message = row_prepare(sink->database, "message_row", 17),
                             .call = row_prepare(sink->database, "call_row", 7),
                             .round = row_prepare(sink->database, "round", 4),
                             .member = row_prepare(sink->database, "round_process", 5),
                             .unmatched = row_prepare(sink->database, "unmatched", 12)};
    pthread_mutex_lock(&sink->lock);
    for (;;) {
        while (!sink->full && !sink->ended)
            pthread_cond_wait(&sink->changed, &sink->lock);
        if (!sink->full)
            break;
        struct sink_batch *batch = &sink->batches[1 - sink->filling];
        pthread_mutex_unlock(&sink->lock);
        insert_batch(&rows, batch);
        bool failed =
            rows.message.failed || rows.call.failed || rows.round.failed || rows.member.failed || rows.unmatched.failed;
        pthread_mutex_lock(&sink->lock);
        sink->failed = sink->failed || failed;
        sink->full = false;
        pthread_cond_broadcast(&sink->changed);
    }
    pthread_mutex_unlock(&sink->lock);
    row_finish(&rows.message);
    row_finish(&rows.call);
    row_finish(&rows.round);
    row_finish(&rows.member);
    row_finish(&rows.unmatched);
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
    bool failed = sink->failed || sink->no_memory;
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

/* Room for one more row at the end of an array of the batch that is filled; NULL: no memory. */
static void *room(struct sink *sink, void *array, size_t n, size_t *capacity, size_t row_bytes)
{
    void *grown = trace_reserve(array, n + 1, capacity, row_bytes);
    if (grown == NULL)
        sink->no_memory = true;
    return grown;
}

static int64_t length_of(int64_t begin_ns, int64_t end_ns)
{
    return end_ns == TRACE_NO_TIME ? TRACE_NO_TIME : end_ns - begin_ns;
}

/* What the message has in common with others. */
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
                        .uncertain = receive->uncertain};
    int64_t id = form_of(&sink->forms, &form);
    if (id == 0)
        sink->no_memory = true;
    return id;
}

int64_t sink_message(struct sink *sink, struct trace *trace, uint32_t index, int64_t round)
{
    struct sink_batch *batch = &sink->batches[sink->filling];
    const struct trace_operation *receive = &trace->operations[index], *send = &trace->operations[receive->partner];
    struct message_row *grown =
        room(sink, batch->messages, batch->n_messages, &batch->messages_capacity, sizeof *grown);
    if (grown == NULL)
        return 0;
    batch->messages = grown;
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
    struct unmatched_row *grown =
        room(sink, batch->unmatched, batch->n_unmatched, &batch->unmatched_capacity, sizeof *grown);
    if (grown == NULL)
        return 0;
    batch->unmatched = grown;
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
    struct call_row *grown =
        sink->calls ? room(sink, batch->calls, batch->n_calls, &batch->calls_capacity, sizeof *grown) : NULL;
    if (grown == NULL)
        return;
    batch->calls = grown;
    batch->calls[batch->n_calls++] = row;
}

void sink_round(struct sink *sink, struct round_row row)
{
    struct sink_batch *batch = &sink->batches[sink->filling];
    struct round_row *grown = room(sink, batch->rounds, batch->n_rounds, &batch->rounds_capacity, sizeof *grown);
    if (grown == NULL)
        return;
    batch->rounds = grown;
    batch->rounds[batch->n_rounds++] = row;
}

void sink_member(struct sink *sink, struct member_row row)
{
    struct sink_batch *batch = &sink->batches[sink->filling];
    struct member_row *grown = room(sink, batch->members, batch->n_members, &batch->members_capacity, sizeof *grown);
    if (grown == NULL)
        return;
    batch->members = grown;
    batch->members[batch->n_members++] = row;
}

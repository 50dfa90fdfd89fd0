/* A matched probe takes a message out of MPI's matching for one receive, so it is recorded where it happens and not
 * where the message is received. See probe.h. */
#include "interpose/backend/family/probe.h"

#include <stdlib.h>

#include "interpose/backend/table/handle_table.h"

static struct live_table messages = LIVE_TABLE_INITIALIZER;

static void keep_message(MPI_Message message, struct spool_operation *operation)
{
    if (live_table_put(&messages, HANDLE_KEY(message), operation) != 0)
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
}

/* Takes out the operation of a message; returns NULL if it is not known. */
static struct spool_operation *take_message(MPI_Message message)
{
    return message == MPI_MESSAGE_NULL ? NULL : live_table_take(&messages, HANDLE_KEY(message));
}

void probe_end_timed(struct recorded_call *call, int result, const int *flag)
{
    if (result == MPI_SUCCESS && flag && !*flag)
        timed_call_idle(call, now_ticks());
    else
        test_store(call, 0, now_ticks());
}

void mprobe_begin(struct matched_probe *probe, int source, int tag, MPI_Comm comm, MPI_Status **status)
{
    probe->watched.status = NULL;
    probe->source = source;
    probe->tag = tag;
    probe->comm = comm;
    if (source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG)
        watch_status(&probe->watched, status);
}

/* Returns the receive that a probe matched; NULL: it is lost. With sums it is memory of our own until its bytes are
 * known. */
static struct spool_operation *post_matched(const struct matched_probe *probe)
{
    const struct recorded_call *call = &probe->call;
    if (!recorder.sums)
        return operation_post(call, SPOOL_RECEIVE, NULL, 0, MPI_BYTE, probe->source, probe->tag, probe->comm,
                              SPOOL_MATCHED_PROBE);
    struct spool_operation *operation = recorder_allocate(sizeof *operation);
    if (!operation) {
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
        return NULL;
    }
    operation->function = (uint16_t)call->function;
    operation->post_ticks = call->begin_ticks;
    operation->site = call->site;
    operation->flags = (uint16_t)__atomic_load_n(&recorder.off, __ATOMIC_RELAXED);
    operation_fill(operation, SPOOL_RECEIVE, communicator_index(call->thread, probe->comm), 0, probe->source,
                   probe->tag, SPOOL_MATCHED_PROBE);
    operation->type = SPOOL_OPERATION;
    return operation;
}

/* Stores the receive that the probe matched. */
static void store_matched(struct matched_probe *probe, const MPI_Status *status, MPI_Message message)
{
    uint64_t now = now_ticks();
    struct spool_operation *operation = post_matched(probe);
    if (!operation)
        return;
    operation_resolve(operation, status, 1);
    operation->call_ticks = saturate_ticks(now - probe->call.begin_ticks);
    keep_message(message, operation);
}

void mprobe_end(struct matched_probe *probe, int result, const MPI_Message *message, const int *flag)
{
    const MPI_Status *status = watched_result(&probe->watched);
    if (!is_recording())
        return;
    if (result == MPI_SUCCESS && (!flag || *flag))
        store_matched(probe, status, *message);
    else
        probe_end(&probe->call, result, flag);
}

void mrecv_begin(struct matched_receive *receive, const void *buffer, int64_t count, MPI_Datatype datatype,
                 const MPI_Message *message)
{
    receive->message = *message;
    receive->operation = take_message(*message);
    if (!receive->operation)
        return;
    receive->operation->bytes = elements_bytes(count, datatype);
    receive->operation->memory = buffer_memory(&receive->call, buffer) & SPOOL_MEMORY_ALL;
}

/* Returns whether the call left the message to be received; then the operation goes back. */
static int still_matched(struct matched_receive *receive, int result, const MPI_Message *message)
{
    if (result == MPI_SUCCESS || *message == MPI_MESSAGE_NULL || !receive->operation)
        return 0;
    receive->operation->bytes = 0;
    keep_message(receive->message, receive->operation);
    return 1;
}

void mrecv_end(struct matched_receive *receive, int result, const MPI_Message *message, const MPI_Request *request)
{
    uint64_t now = now_ticks();
    uint32_t completed = 0;
    if (receive->operation && !still_matched(receive, result, message)) {
        if (recorder.sums) {
            total_add_record(receive->operation);
            free(receive->operation);
        } else if (request && result == MPI_SUCCESS) {
            request_table_add(receive->call.thread, HANDLE_KEY(*request), receive->operation);
        } else {
            operation_complete(receive->operation, NULL, result, now, current_processor());
            completed = !request;
        }
    }
    timed_call_store(&receive->call, completed, now);
}

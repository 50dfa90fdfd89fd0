/* Families send, recv, isend, irecv, sendrecv and request_free: an operation has one record, which is stored before MPI
 * is called (a process that is killed in a receive leaves that receive behind) and completed in place.
 *
 * The functions are inline because they run in every message; completion.h has the nonblocking ones' second half. */
#ifndef MPISTAIR_BACKEND_OPERATION_H
#define MPISTAIR_BACKEND_OPERATION_H

#include "interpose/backend/table/buffer_memory.h"
#include "interpose/backend/table/communicator.h"
#include "interpose/backend/table/datatype.h"
#include "interpose/backend/recorder/state.h"
#include "interpose/backend/table/pending.h"
#include "interpose/backend/table/request_table.h"

/* A source that no MPI stores into a status. */
#define SOURCE_UNTOUCHED INT32_MIN

/* The status of a call that may resolve a wildcard. */
struct watched_status {
    MPI_Status *status;   /* where MPI puts it; NULL: not watched */
    int32_t users_source; /* source that stood in it */
    MPI_Status own;       /* used where the caller wants none */
};

struct posted_call {
    struct recorded_call call;
    struct spool_operation *operation; /* NULL: lost, or the call is not recorded */
    struct spool_operation *second;    /* the receive of MPI_Sendrecv */
    struct watched_status watched;
};

/* Returns room for the n records of one call behind each other, with what the call gives them: function, time, site,
 * processor, and SPOOL_OFF. Returns NULL if they are lost. The caller fills the rest and publishes them. */
IN_WRAPPER struct spool_operation *operation_reserve(const struct recorded_call *call, unsigned n)
{
    struct spool_operation *operations = spool_lane_reserve(call->thread->lane, n * sizeof *operations);
    int16_t processor = operations ? current_processor() : (int16_t)-1;
    for (unsigned i = 0; operations && i < n; i++) {
        operations[i].function = (uint16_t)call->function;
        operations[i].post_ticks = call->begin_ticks;
        operations[i].site = call->site;
        operations[i].stack = call->thread->stack;
        operations[i].cpu_post = processor;
        operations[i].cpu_complete = -1;
        operations[i].flags = (uint16_t)__atomic_load_n(&recorder.off, __ATOMIC_RELAXED);
    }
    return operations;
}

/* Fills in the message of a reserved record. */
static inline void operation_fill(struct spool_operation *operation, enum spool_direction direction,
                                  uint32_t communicator, uint64_t bytes, int peer, int tag, unsigned flags)
{
    operation->communicator = communicator;
    operation->peer = recorded_peer(peer);
    operation->tag = recorded_tag(tag);
    operation->bytes = bytes;
    if (direction == SPOOL_RECEIVE)
        flags |= wildcard_flags(peer, tag);
    operation->flags = (uint16_t)(operation->flags | flags);
    operation->direction = direction & 1U;
}

/* Stores the record of a post; returns NULL if it is lost. */
IN_WRAPPER struct spool_operation *operation_post(const struct recorded_call *call, enum spool_direction direction,
                                                  const void *buffer, int64_t count, MPI_Datatype datatype, int peer,
                                                  int tag, MPI_Comm comm, unsigned flags)
{
    uint32_t communicator = communicator_index(call->thread, comm);
    struct spool_operation *operation = operation_reserve(call, 1);
    if (!operation)
        return NULL;
    unsigned memory = buffer_memory(call, buffer);
    operation_fill(operation, direction, communicator, message_bytes(call->thread, count, datatype), peer, tag, flags);
    operation->memory = memory & SPOOL_MEMORY_ALL;
    spool_record_publish(operation, SPOOL_OPERATION);
    return operation;
}

/* Ends the posting call: stores the time in it, and ends a failed post. */
static inline void operation_posted(const struct recorded_call *call, struct spool_operation *operation, int result)
{
    uint64_t now = now_ticks();
    operation->call_ticks = saturate_ticks(now - call->begin_ticks);
    if (__builtin_expect(result != MPI_SUCCESS, 0))
        operation_complete(operation, NULL, result, now, operation->cpu_post);
}

IN_WRAPPER void send_begin(struct posted_call *post, const void *buffer, int64_t count, MPI_Datatype datatype, int dest,
                           int tag, MPI_Comm comm)
{
    post->operation = operation_post(&post->call, SPOOL_SEND, buffer, count, datatype, dest, tag, comm, SPOOL_BLOCKING);
}

/* Ends a blocking call of one operation. */
static inline void blocking_end(struct posted_call *post, int result, const MPI_Status *status)
{
    if (!post->operation)
        return;
    uint64_t now = now_ticks();
    int16_t processor = current_processor();
    post->operation->call_ticks = saturate_ticks(now - post->call.begin_ticks);
    operation_complete(post->operation, status, result, now, processor);
}

static inline void send_end(struct posted_call *post, int result)
{
    blocking_end(post, result, NULL);
}

/* Makes MPI report source and tag where wildcards matter. This distinguishes a status that MPI leaves alone (a call
 * that fails, a test without result) from one that it fills. */
static inline void watch_status(struct watched_status *watched, MPI_Status **status)
{
    if (*status == MPI_STATUS_IGNORE)
        *status = &watched->own;
    watched->status = *status;
    watched->users_source = watched->status->MPI_SOURCE;
    watched->status->MPI_SOURCE = SOURCE_UNTOUCHED;
}

/* Returns what MPI filled in, or NULL; then the caller finds what stood there before. Call it once after every
 * watch_status. */
static inline const MPI_Status *watched_result(struct watched_status *watched)
{
    if (!watched->status || watched->status->MPI_SOURCE != SOURCE_UNTOUCHED)
        return watched->status;
    watched->status->MPI_SOURCE = watched->users_source;
    return NULL;
}

/* Family recv records MPI_Recv. */
IN_WRAPPER void recv_begin(struct posted_call *post, const void *buffer, int64_t count, MPI_Datatype datatype,
                           int source, int tag, MPI_Comm comm, MPI_Status **status)
{
    post->operation = NULL;
    post->watched.status = NULL;
    post->operation =
        operation_post(&post->call, SPOOL_RECEIVE, buffer, count, datatype, source, tag, comm, SPOOL_BLOCKING);
    if (post->operation && (post->operation->flags & (SPOOL_ANY_SOURCE | SPOOL_ANY_TAG)))
        watch_status(&post->watched, status);
}

static inline void recv_end(struct posted_call *post, int result)
{
    const MPI_Status *status = watched_result(&post->watched);
    if (is_recording())
        blocking_end(post, result, status);
}

/* Returns room for both operations of a call that sends and receives, behind each other; NULL if both are lost. */
static inline struct spool_operation *operation_post_two(const struct recorded_call *call, const void *send_buffer,
                                                         int64_t send_count, MPI_Datatype send_type, int dest,
                                                         int send_tag, const void *receive_buffer,
                                                         int64_t receive_count, MPI_Datatype receive_type, int source,
                                                         int receive_tag, MPI_Comm comm, unsigned flags)
{
    uint32_t communicator = communicator_index(call->thread, comm);
    struct spool_operation *two = operation_reserve(call, 2);
    if (!two)
        return NULL;
    operation_fill(&two[0], SPOOL_SEND, communicator, elements_bytes(send_count, send_type), dest, send_tag, flags);
    operation_fill(&two[1], SPOOL_RECEIVE, communicator, elements_bytes(receive_count, receive_type), source,
                   receive_tag, flags | SPOOL_SAME_CALL);
    two[0].memory = buffer_memory(call, send_buffer) & SPOOL_MEMORY_ALL;
    two[1].memory = buffer_memory(call, receive_buffer) & SPOOL_MEMORY_ALL;
    spool_record_publish(&two[1], SPOOL_OPERATION); /* a reader sees both or none */
    spool_record_publish(&two[0], SPOOL_OPERATION);
    return two;
}

/* Family sendrecv: MPI_Sendrecv, and _replace, which hands in one count and datatype twice. */
static inline void sendrecv_begin(struct posted_call *post, const void *send_buffer, int64_t send_count,
                                  MPI_Datatype send_type, int dest, int send_tag, const void *receive_buffer,
                                  int64_t receive_count, MPI_Datatype receive_type, int source, int receive_tag,
                                  MPI_Comm comm, MPI_Status **status)
{
    post->second = NULL;
    post->watched.status = NULL;
    post->operation =
        operation_post_two(&post->call, send_buffer, send_count, send_type, dest, send_tag, receive_buffer,
                           receive_count, receive_type, source, receive_tag, comm, SPOOL_BLOCKING);
    if (!post->operation)
        return;
    post->second = post->operation + 1;
    if (post->second->flags & (SPOOL_ANY_SOURCE | SPOOL_ANY_TAG))
        watch_status(&post->watched, status);
}

static inline void sendrecv_end(struct posted_call *post, int result)
{
    const MPI_Status *status = watched_result(&post->watched);
    if (!post->operation || !is_recording())
        return;
    uint64_t now = now_ticks();
    int16_t processor = current_processor();
    post->operation->call_ticks = post->second->call_ticks = saturate_ticks(now - post->call.begin_ticks);
    operation_complete_two(post->operation, status, result, now, processor);
}

/* Families isend and irecv record the post by MPI_Isend, its modes, and MPI_Irecv. */
IN_WRAPPER void isend_begin(struct posted_call *post, const void *buffer, int64_t count, MPI_Datatype datatype,
                            int dest, int tag, MPI_Comm comm)
{
    post->operation = operation_post(&post->call, SPOOL_SEND, buffer, count, datatype, dest, tag, comm, 0);
}

IN_WRAPPER void irecv_begin(struct posted_call *post, const void *buffer, int64_t count, MPI_Datatype datatype,
                            int source, int tag, MPI_Comm comm)
{
    post->operation = operation_post(&post->call, SPOOL_RECEIVE, buffer, count, datatype, source, tag, comm, 0);
}

IN_WRAPPER void isend_end(struct posted_call *post, int result, const MPI_Request *request)
{
    if (!post->operation)
        return;
    if (result == MPI_SUCCESS)
        request_table_add(post->call.thread, HANDLE_KEY(*request), post->operation);
    operation_posted(&post->call, post->operation, result);
}

/* Family isendrecv records MPI_Isendrecv and _replace; the receive stands for both operations. */
static inline void isendrecv_begin(struct posted_call *post, const void *send_buffer, int64_t send_count,
                                   MPI_Datatype send_type, int dest, int send_tag, const void *receive_buffer,
                                   int64_t receive_count, MPI_Datatype receive_type, int source, int receive_tag,
                                   MPI_Comm comm)
{
    post->operation = operation_post_two(&post->call, send_buffer, send_count, send_type, dest, send_tag,
                                         receive_buffer, receive_count, receive_type, source, receive_tag, comm, 0);
}

static inline void isendrecv_end(struct posted_call *post, int result, const MPI_Request *request)
{
    if (!post->operation)
        return;
    if (result == MPI_SUCCESS)
        request_table_add(post->call.thread, HANDLE_KEY(*request), post->operation + 1);
    operation_posted(&post->call, post->operation, result);
    operation_posted(&post->call, post->operation + 1, result);
}

#endif

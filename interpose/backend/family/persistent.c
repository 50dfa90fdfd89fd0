/* The facts of a persistent request are kept by its handle, so that a start needs no argument of the initialising call.
 * See persistent.h. */
#include "interpose/backend/family/persistent.h"

#include <errno.h>
#include <stdlib.h>

#include "interpose/backend/table/pending.h"

static uint32_t n_persistent;

struct persistent *persistent_new(const struct recorded_call *call, const struct spool_persistent *facts)
{
    int saved_errno = errno;
    struct persistent *persistent = calloc(1, sizeof *persistent);
    errno = saved_errno;
    if (!persistent) {
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
        return NULL;
    }
    persistent->facts = *facts;
    persistent->facts.type = SPOOL_NONE;
    persistent->facts.function = (uint16_t)call->function;
    persistent->facts.begin_ticks = call->begin_ticks;
    persistent->facts.site = call->site;
    persistent->facts.number = __atomic_add_fetch(&n_persistent, 1, __ATOMIC_RELAXED);
    struct spool_persistent *record = spool_lane_reserve(call->thread->lane, sizeof *record);
    if (record) {
        *record = persistent->facts;
        spool_record_publish(record, SPOOL_PERSISTENT);
    }
    persistent->record = record;
    return persistent;
}

void persistent_ready(const struct recorded_call *call, struct persistent *persistent, int result,
                      const MPI_Request *request)
{
    if (!persistent)
        return;
    if (result != MPI_SUCCESS || !call_recorded(call)) {
        free(persistent->more);
        free(persistent);
        return;
    }
    uint64_t ticks = clock_ticks(recorder.clock_source) - call->begin_ticks;
    if (persistent->record)
        persistent->record->call_ticks = saturate_ticks(ticks);
    request_table_add_persistent(call->thread, HANDLE_KEY(*request), persistent);
}

void persistent_describe(const struct persistent *persistent, struct spool_operation *operation, unsigned flags)
{
    operation->direction = persistent->facts.direction & 1U;
    operation->memory = persistent->memory & SPOOL_MEMORY_ALL;
    operation->communicator = persistent->facts.communicator;
    operation->peer = persistent->facts.peer;
    operation->tag = persistent->facts.tag;
    operation->bytes = persistent->facts.bytes;
    operation->persistent = persistent->facts.number;
    operation->flags = (uint16_t)(operation->flags | flags | SPOOL_STARTED);
}

static void *start_operation(struct persistent *self, const struct recorded_call *call)
{
    struct spool_operation *operation = operation_reserve(call, 1);
    if (!operation)
        return NULL;
    persistent_describe(self, operation, self->flags);
    spool_record_publish(operation, SPOOL_OPERATION);
    return operation;
}

void persistent_init_begin(struct persistent_call *init, enum mpistair_function function, uint64_t site,
                           const void *buffer, int64_t count, MPI_Datatype datatype, int peer, int tag, MPI_Comm comm)
{
    init->persistent = NULL;
    if (!call_begin(&init->call, function, site))
        return;
    int receives = function == FN_Recv_init || function == FN_Recv_init_c;
    struct spool_persistent facts = {
        .direction = receives ? SPOOL_RECEIVE : SPOOL_SEND,
        .communicator = communicator_index(init->call.thread, comm),
        .peer = recorded_peer(peer),
        .tag = recorded_tag(tag),
        .bytes = elements_bytes(count, datatype),
    };
    if (facts.communicator == COMMUNICATOR_NONE)
        return;
    init->persistent = persistent_new(&init->call, &facts);
    if (!init->persistent)
        return;
    init->persistent->start = start_operation;
    init->persistent->memory = buffer_memory(&init->call, buffer);
    if (receives)
        init->persistent->flags = wildcard_flags(peer, tag);
}

void persistent_init_end(struct persistent_call *init, int result, const MPI_Request *request)
{
    persistent_ready(&init->call, init->persistent, result, request);
}

/* Posts what the start of these requests begins. */
static void post_starts(struct start_call *start)
{
    for (int i = 0; i < start->n; i++) {
        struct persistent *persistent = request_table_persistent(HANDLE_KEY(start->before[i]));
        if (!persistent)
            continue;
        if (persistent->active) /* it was not seen to end */
            pending_abandon(persistent->active, start->call.thread, 0);
        persistent->active = persistent->start(persistent, &start->call);
    }
}

/* Ends the starts. Open MPI exchanges the request where an earlier start of it is not done inside. */
static void end_starts(struct start_call *start, int result, const MPI_Request *requests)
{
    if (!call_recorded(&start->call))
        return;
    struct moment now = moment_now();
    for (int i = 0; i < start->n; i++) {
        uint64_t before = HANDLE_KEY(start->before[i]), after = HANDLE_KEY(requests[i]);
        struct persistent *persistent = request_table_persistent(before);
        if (!persistent)
            continue;
        if (persistent->active)
            pending_posted(persistent->active, now.ticks - start->call.begin_ticks);
        if (persistent->active && result != MPI_SUCCESS) {
            pending_complete(persistent->active, start->call.thread, NULL, result, now);
            persistent->active = NULL;
        }
        if (before != after && request_table_take_persistent(before))
            request_table_add_persistent(start->call.thread, after, persistent);
    }
}

void start_begin(struct start_call *start, enum mpistair_function function, uint64_t site, const MPI_Request *request)
{
    if (!call_begin(&start->call, function, site))
        return;
    start->one_before = *request;
    start->before = &start->one_before;
    start->n = 1;
    post_starts(start);
}

void start_end(struct start_call *start, int result, const MPI_Request *request)
{
    end_starts(start, result, request);
}

void startall_begin(struct start_call *start, enum mpistair_function function, uint64_t site, int64_t n,
                    const MPI_Request *requests)
{
    start->n = 0;
    start->before = NULL;
    if (!call_begin(&start->call, function, site) || n <= 0 || n > INT32_MAX || !requests)
        return;
    start->before = scratch_borrow(&start->call.thread->scratch, (size_t)n * sizeof *requests);
    if (!start->before) {
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, (uint64_t)n);
        return;
    }
    memcpy(start->before, requests, (size_t)n * sizeof *requests);
    start->n = (int)n;
    post_starts(start);
}

void startall_end(struct start_call *start, int result, const MPI_Request *requests)
{
    end_starts(start, result, requests);
    if (start->call.thread && start->before)
        scratch_return(&start->call.thread->scratch, start->before);
}

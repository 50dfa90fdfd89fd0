/* The facts of a persistent request are kept by its handle, so that a start needs no argument of the initialising call.
 * See persistent.h. */
#include "interpose/backend/family/persistent.h"

#include <stdlib.h>

#include "interpose/backend/call/timed_call.h"
#include "interpose/backend/table/pending.h"
#include "share/base/settings.h"

static uint32_t n_persistent;

/* Returns a persistent request with the next number and the given facts; type, function, number, ticks and site come
 * from the call. Its record is stored. Returns NULL without memory, which is counted. */
static struct persistent *new_request(const struct recorded_call *call, const struct spool_persistent *facts)
{
    struct persistent *persistent = recorder_allocate(sizeof *persistent);
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
    persistent->facts.lane = call->thread->lane->number;
    struct spool_persistent *record = spool_definition_reserve(&recorder.spool, sizeof *record);
    if (record) {
        *record = persistent->facts;
        spool_definition_publish(&recorder.spool, record, SPOOL_PERSISTENT);
    }
    persistent->record = record;
    return persistent;
}

/* Begins an initialisation whose starts post by `start`; buffer NULL: it has none. Nothing is recorded on a
 * communicator that MPI does not know. */
static void begin_request(struct persistent_call *init, const struct spool_persistent *facts, persistent_start *start,
                          const void *buffer)
{
    init->persistent = facts->communicator == COMMUNICATOR_NONE ? NULL : new_request(&init->call, facts);
    if (!init->persistent)
        return;
    init->persistent->start = start;
    if (buffer)
        init->persistent->memory = buffer_memory(&init->call, buffer);
}

/* Fills in what the request knows about an operation that a start posts; flags come on top of SPOOL_STARTED. */
static void describe(const struct persistent *persistent, struct spool_operation *operation, unsigned flags)
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
    describe(self, operation, self->flags);
    spool_record_publish(operation, SPOOL_OPERATION);
    return operation;
}

void persistent_init_begin(struct persistent_call *init, const void *buffer, int64_t count, MPI_Datatype datatype,
                           int peer, int tag, MPI_Comm comm)
{
    int receives = init->call.function == FN_Recv_init || init->call.function == FN_Recv_init_c;
    struct spool_persistent facts = {
        .direction = receives ? SPOOL_RECEIVE : SPOOL_SEND,
        .communicator = communicator_index(init->call.thread, comm),
        .peer = recorded_peer(peer),
        .tag = recorded_tag(tag),
        .bytes = elements_bytes(count, datatype),
    };
    begin_request(init, &facts, start_operation, buffer);
    if (init->persistent && receives)
        init->persistent->flags = wildcard_flags(peer, tag);
}

void persistent_init_end(struct persistent_call *init, int result, const MPI_Request *request)
{
    struct persistent *persistent = init->persistent;
    if (!persistent)
        return;
    if (result != MPI_SUCCESS || !is_recording()) {
        free(persistent);
        return;
    }
    if (persistent->record)
        persistent->record->call_ticks = saturate_ticks(now_ticks() - init->call.begin_ticks);
    request_table_add_persistent(init->call.thread, HANDLE_KEY(*request), persistent);
}

/* Posts what the start of these requests begins. */
static void post_starts(struct start_call *start)
{
    for (int i = 0; i < start->n; i++) {
        struct persistent *persistent = request_table_persistent(HANDLE_KEY(start->before[i]));
        if (!persistent)
            continue;
        if (recorder.sums)
            continue;
        if (persistent->active) /* it was not seen to end */
            pending_abandon(persistent->active, start->call.thread, 0);
        persistent->active = persistent->start(persistent, &start->call);
    }
}

/* Adds the start of a request to the totals; the first of a call has its time. */
static void sum_start(const struct recorded_call *call, const struct spool_persistent *facts, uint64_t end_ticks)
{
    int is_collective = facts->direction == UINT8_MAX, receives = facts->direction == SPOOL_RECEIVE;
    const struct total_call one = {
        .site = call->site,
        .partner = total_partner(facts->communicator, is_collective ? TOTAL_NO_PEER : facts->peer),
        .rest = total_rest(call->function, facts->bytes, (receives ? (unsigned)TOTAL_RECEIVE : 0U) | total_off()),
        .bytes = facts->bytes,
        .begin_ticks = call->begin_ticks,
        .ticks = end_ticks - call->begin_ticks};
    total_add(is_collective ? WINDOW_COLLECTIVE : WINDOW_POINT_TO_POINT, &one,
              is_collective || receives ? 0 : facts->bytes);
}

/* Ends the starts. Open MPI exchanges the request where an earlier start of it is not done inside. */
static void end_starts(struct start_call *start, int result, const MPI_Request *requests)
{
    struct moment now = moment_now();
    if (start->call.thread->n_places != 0)
        total_end_row(start->call.thread);
    uint64_t ends = now.ticks;
    for (int i = 0; i < start->n; i++) {
        uint64_t before = HANDLE_KEY(start->before[i]), after = HANDLE_KEY(requests[i]);
        struct persistent *persistent = request_table_persistent(before);
        if (!persistent)
            continue;
        if (recorder.sums) {
            sum_start(&start->call, &persistent->facts, ends);
            ends = start->call.begin_ticks;
        }
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

void start_begin(struct start_call *start, int64_t n, const MPI_Request *requests)
{
    start->n = 0;
    start->before = NULL;
    if (n <= 0 || n > INT32_MAX || !requests)
        return;
    start->before =
        n == 1 ? &start->one_before : scratch_borrow(&start->call.thread->scratch, (size_t)n * sizeof *requests);
    if (!start->before) {
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, (uint64_t)n);
        return;
    }
    memcpy(start->before, requests, (size_t)n * sizeof *requests);
    start->n = (int)n;
    post_starts(start);
}

void start_end(struct start_call *start, int result, const MPI_Request *requests)
{
    if (is_recording())
        end_starts(start, result, requests);
    if (start->before && start->before != &start->one_before)
        scratch_return(&start->call.thread->scratch, start->before);
}

/* A start of a persistent collective says nothing about its arguments, so each start copies what the initialisation
 * recorded. */

/* Stores the record of one start. Its function is MPI_Start or MPI_Startall; the request says which collective it is.
 */
static void *start_collective(struct persistent *self, const struct recorded_call *call)
{
    struct collective_call collective = {.call = *call};
    if (__atomic_load_n(&recorder.off, __ATOMIC_RELAXED))
        return NULL;
    collective_reserve(&collective, self->facts.communicator);
    struct spool_collective *record = collective.record;
    if (!record)
        return NULL;
    record->bytes = self->facts.bytes;
    record->root = self->facts.peer;
    record->persistent = self->facts.number;
    record->flags = SPOOL_NONBLOCKING | SPOOL_STARTED;
    spool_record_publish(record, SPOOL_COLLECTIVE);
    return record;
}

void collective_init_begin(struct persistent_call *init, const struct collective_arguments *arguments)
{
    init->persistent = NULL;
    uint32_t communicator = communicator_index(init->call.thread, arguments->comm);
    if (communicator == COMMUNICATOR_NONE)
        return;
    const struct spool_persistent facts = {
        .direction = UINT8_MAX,
        .communicator = communicator,
        .peer = arguments->root >= 0 ? arguments->root : -1,
        .bytes = collective_bytes(arguments, communicator_rank(communicator)),
    };
    begin_request(init, &facts, start_collective, NULL);
}

/* Any thread may mark partitions while others wait for the request, so a record right behind the operation's
 * collects first and last times and counts by atomic operations. */
static uint32_t n_started;
static int each_partition; /* MPISTAIR_PARTITIONS=1 */

/* Stores the records of one start. */
static void *start_partitioned(struct persistent *self, const struct recorded_call *call)
{
    struct spool_operation *operation = operation_reserve(call, 2);
    if (!operation)
        return NULL;
    struct spool_partitions *partitions = (struct spool_partitions *)(void *)(operation + 1);
    memset(partitions, 0, sizeof *partitions);
    partitions->number = __atomic_add_fetch(&n_started, 1, __ATOMIC_RELAXED);
    partitions->partitions = self->facts.partitions;
    describe(self, operation, SPOOL_PARTITIONED);
    spool_record_publish(partitions, SPOOL_PARTITIONS); /* a reader sees both or none */
    spool_record_publish(operation, SPOOL_OPERATION);
    return operation;
}

/* Returns the bytes of all partitions, saturating. */
static uint64_t partitioned_bytes(int64_t partitions, int64_t count, MPI_Datatype datatype)
{
    int64_t elements;
    if (partitions < 0 || count < 0)
        return 0;
    return __builtin_mul_overflow(partitions, count, &elements) ? INT64_MAX : elements_bytes(elements, datatype);
}

void partitioned_init_begin(struct persistent_call *init, const void *buffer, int64_t partitions, int64_t count,
                            MPI_Datatype datatype, int peer, int tag, MPI_Comm comm)
{
    int receives = init->call.function == FN_Precv_init || init->call.function == FN_Precv_init_c;
    const char *each = setting("MPISTAIR_PARTITIONS");
    __atomic_store_n(&each_partition, each && strcmp(each, "1") == 0, __ATOMIC_RELAXED);
    const struct spool_persistent facts = {
        .direction = receives ? SPOOL_RECEIVE : SPOOL_SEND,
        .communicator = communicator_index(init->call.thread, comm),
        .peer = recorded_peer(peer),
        .tag = tag,
        .bytes = partitioned_bytes(partitions, count, datatype),
        .partitions = (uint32_t)partitions,
    };
    begin_request(init, &facts, start_partitioned, buffer);
}

/* Returns the partitions of the request's started operation; NULL if it is inactive, or not known. */
static struct spool_partitions *partitions_of(MPI_Request request)
{
    struct persistent *persistent = request == MPI_REQUEST_NULL ? NULL : request_table_persistent(HANDLE_KEY(request));
    struct spool_operation *operation = persistent ? __atomic_load_n(&persistent->active, __ATOMIC_ACQUIRE) : NULL;
    if (!operation || operation->type != SPOOL_OPERATION || !(operation->flags & SPOOL_PARTITIONED))
        return NULL;
    return (struct spool_partitions *)(void *)(operation + 1);
}

/* Stores one record for each partition, on request. */
static void store_each(const struct partition_call *call, uint64_t ticks)
{
    for (int i = 0; i < call->n; i++) {
        struct spool_partition *record = spool_lane_reserve(call->call.thread->lane, sizeof *record);
        if (!record)
            return;
        record->function = (uint16_t)call->call.function;
        record->partition = (uint32_t)(call->list ? call->list[i] : call->first + i);
        record->ticks = ticks;
        record->number = call->partitions->number;
        record->site = call->call.site;
        spool_record_publish(record, SPOOL_PARTITION);
    }
}

/* Notes that the call's partitions were marked ready, or seen to arrive, at this time. */
static void note_partitions(const struct partition_call *call, uint64_t ticks)
{
    struct spool_partitions *partitions = call->partitions;
    uint64_t first = __atomic_load_n(&partitions->first_ticks, __ATOMIC_RELAXED);
    while ((first == 0 || ticks < first) &&
           !__atomic_compare_exchange_n(&partitions->first_ticks, &first, ticks, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    uint64_t last = __atomic_load_n(&partitions->last_ticks, __ATOMIC_RELAXED);
    while (ticks > last &&
           !__atomic_compare_exchange_n(&partitions->last_ticks, &last, ticks, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    __atomic_fetch_add(&partitions->done, (uint32_t)call->n, __ATOMIC_RELAXED);
    if (__atomic_load_n(&each_partition, __ATOMIC_RELAXED))
        store_each(call, ticks);
}

/* Fills in the call. Returns whether its partitions are known. */
static int begin_partitions(struct partition_call *call, int first, int n, const int *list, MPI_Request request)
{
    call->partitions = NULL;
    call->first = first;
    call->n = n > 0 ? n : 0;
    call->list = list;
    call->partitions = partitions_of(request);
    return call->partitions != NULL && call->n > 0;
}

void pready_begin(struct partition_call *ready, int first, int n, const int *list, MPI_Request request)
{
    if (begin_partitions(ready, first, n, list, request))
        note_partitions(ready, ready->call.begin_ticks);
}

void pready_range_begin(struct partition_call *ready, int low, int high, MPI_Request request)
{
    int64_t n = (int64_t)high - low + 1;
    pready_begin(ready, low, n > 0 && n <= INT32_MAX ? (int)n : 0, NULL, request);
}

void pready_end(struct partition_call *ready, int result)
{
    if (result != MPI_SUCCESS && ready->partitions)
        __atomic_fetch_sub(&ready->partitions->done, (uint32_t)ready->n, __ATOMIC_RELAXED);
}

void parrived_begin(struct partition_call *arrived, int partition, MPI_Request request)
{
    begin_partitions(arrived, partition, 1, NULL, request);
}

void parrived_end(struct partition_call *arrived, int result, const int *flag)
{
    if (!arrived->partitions || result != MPI_SUCCESS)
        return;
    if (*flag)
        note_partitions(arrived, now_ticks());
    else
        timed_call_idle(&arrived->call, now_ticks());
}

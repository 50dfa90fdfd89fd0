/* Any thread may mark partitions while others wait for the request, so a record right behind the operation's collects
 * first and last times and counts by atomic operations. See partitioned.h. */
#include "interpose/backend/family/partitioned.h"

#include <stdlib.h>

#include "interpose/backend/call/timed_call.h"

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
    persistent_describe(self, operation, SPOOL_PARTITIONED);
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

void partitioned_init_begin(struct persistent_call *init, enum mpistair_function function, uint64_t site,
                            const void *buffer, int64_t partitions, int64_t count, MPI_Datatype datatype, int peer,
                            int tag, MPI_Comm comm)
{
    init->persistent = NULL;
    if (!call_begin(&init->call, function, site))
        return;
    const char *each = getenv("MPISTAIR_PARTITIONS");
    __atomic_store_n(&each_partition, each && strcmp(each, "1") == 0, __ATOMIC_RELAXED);
    const struct spool_persistent facts = {
        .direction = function == FN_Precv_init || function == FN_Precv_init_c ? SPOOL_RECEIVE : SPOOL_SEND,
        .communicator = communicator_index(init->call.thread, comm),
        .peer = recorded_peer(peer),
        .tag = tag,
        .bytes = partitioned_bytes(partitions, count, datatype),
        .partitions = (uint32_t)partitions,
    };
    if (facts.communicator == COMMUNICATOR_NONE)
        return;
    init->persistent = persistent_new(&init->call, &facts);
    if (!init->persistent)
        return;
    init->persistent->start = start_partitioned;
    init->persistent->memory = buffer_memory(&init->call, buffer);
}

void partitioned_init_end(struct persistent_call *init, int result, const MPI_Request *request)
{
    persistent_ready(&init->call, init->persistent, result, request);
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
static void note(const struct partition_call *call, uint64_t ticks)
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
static int begin(struct partition_call *call, enum mpistair_function function, uint64_t site, int first, int n,
                 const int *list, MPI_Request request)
{
    call->partitions = NULL;
    if (!call_begin(&call->call, function, site))
        return 0;
    call->first = first;
    call->n = n > 0 ? n : 0;
    call->list = list;
    call->partitions = partitions_of(request);
    return call->partitions != NULL && call->n > 0;
}

void pready_begin(struct partition_call *ready, enum mpistair_function function, uint64_t site, int partition,
                  MPI_Request request)
{
    if (begin(ready, function, site, partition, 1, NULL, request))
        note(ready, ready->call.begin_ticks);
}

void pready_range_begin(struct partition_call *ready, enum mpistair_function function, uint64_t site, int low, int high,
                        MPI_Request request)
{
    int64_t n = (int64_t)high - low + 1;
    if (begin(ready, function, site, low, n > 0 && n <= INT32_MAX ? (int)n : 0, NULL, request))
        note(ready, ready->call.begin_ticks);
}

void pready_list_begin(struct partition_call *ready, enum mpistair_function function, uint64_t site, int n,
                       const int *list, MPI_Request request)
{
    if (begin(ready, function, site, 0, n, list, request))
        note(ready, ready->call.begin_ticks);
}

void pready_end(struct partition_call *ready, int result)
{
    if (result != MPI_SUCCESS && ready->partitions && call_recorded(&ready->call))
        __atomic_fetch_sub(&ready->partitions->done, (uint32_t)ready->n, __ATOMIC_RELAXED);
}

void parrived_begin(struct partition_call *arrived, enum mpistair_function function, uint64_t site, int partition,
                    MPI_Request request)
{
    begin(arrived, function, site, partition, 1, NULL, request);
}

void parrived_end(struct partition_call *arrived, int result, const int *flag)
{
    if (!arrived->partitions || !call_recorded(&arrived->call) || result != MPI_SUCCESS)
        return;
    if (*flag)
        note(arrived, clock_ticks(recorder.clock_source));
    else
        timed_call_idle(&arrived->call, clock_ticks(recorder.clock_source));
}

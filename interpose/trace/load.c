/* One process after the other, by rank. Of one thread the records come in the order of its calls; with several lanes
 * the process's records are sorted by time, equal times by lane. Records that name a communicator or a rank that does
 * not exist are damaged.
 */
#include "load.h"

#include <stdlib.h>

#include "loader.h"
#include "marks.h"
#include "partition.h"
#include "persistent.h"
#include "rma.h"
#include "stack.h"

uint32_t loader_resolve(struct loader *loader, const struct map *map, uint32_t number)
{
    if (number == 0)
        return TRACE_NONE;
    uint32_t index = map_find(map, (struct map_key){number, 0, 0});
    if (index != MAP_ABSENT)
        return index;
    const struct spool *spool = loader->process->spool;
    uint64_t lost = spool->cut_off;
    for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
        lost += spool->header.lost[i] > 0;
    loader->process->damaged += lost == 0;
    return TRACE_NONE;
}

static void add_operation(struct loader *loader, const struct spool_operation *record)
{
    struct trace *trace = loader->trace;
    uint32_t communicator = communicator_of(&loader->communicators, trace, record->communicator);
    const struct trace_communicator *known = communicator == TRACE_NONE ? NULL : &trace->communicators[communicator];
    if (known == NULL || record->peer >= (known->remote_size > 0 ? known->remote_size : known->size)) {
        loader->process->damaged++;
        return;
    }
    struct trace_operation *grown = loader_grow(loader, trace->operations, trace->n_operations, sizeof *grown);
    if (grown == NULL)
        return;
    trace->operations = grown;
    struct trace_operation *operation = &trace->operations[trace->n_operations++];
    *operation = (struct trace_operation){
        .post_ns = loader_ns(loader, record->post_ticks),
        .complete_ns = TRACE_NO_TIME,
        .bytes = record->bytes,
        .rank = loader->rank,
        .communicator = communicator,
        .peer = record->peer,
        .peer_world = -1, /* once all members are known */
        .tag = record->tag,
        .partner = TRACE_NONE,
        .callsite = callsite_of(&loader->callsites, trace, record->site),
        .step = TRACE_NONE,
        .lane = loader->lane,
        .origin = origin_load(loader, record),
        .function = record->function,
        .flags = record->flags,
        .cpu_post = record->cpu_post,
        .cpu_complete = record->cpu_complete,
        .direction = record->direction,
        .uncertain = (record->flags & SPOOL_UNCERTAIN_ORDER) ? DOUBT_THREADS : 0,
    };
    if (record->flags & SPOOL_PARTITIONED)
        loader->partitioned = operation->origin;
    operation->post_end_ns = loader_ns(loader, record->post_ticks + record->call_ticks);
    if (record->complete_ticks != 0)
        operation->complete_ns = loader_ns(loader, record->complete_ticks);
}

static void add_call(struct loader *loader, const struct spool_call *record)
{
    struct trace *trace = loader->trace;
    struct trace_call *grown = loader_grow(loader, trace->calls, trace->n_calls, sizeof *grown);
    if (grown == NULL)
        return;
    trace->calls = grown;
    trace->calls[trace->n_calls++] = (struct trace_call){
        .begin_ns = loader_ns(loader, record->begin_ticks),
        .end_ns = loader_ns(loader, record->begin_ticks + record->call_ticks),
        .rank = loader->rank,
        .completed = record->completed,
        .idle_calls = record->idle_calls,
        .callsite = callsite_of(&loader->callsites, trace, record->site),
        .function = record->function,
    };
}

static void add_collective(struct loader *loader, const struct spool_collective *record)
{
    struct trace *trace = loader->trace;
    uint32_t communicator = communicator_of(&loader->communicators, trace, record->communicator);
    if (communicator == TRACE_NONE) {
        loader->process->damaged++;
        return;
    }
    struct trace_collective *grown = loader_grow(loader, trace->collectives, trace->n_collectives, sizeof *grown);
    if (grown == NULL)
        return;
    trace->collectives = grown;
    trace->collectives[trace->n_collectives] = (struct trace_collective){
        .begin_ns = loader_ns(loader, record->begin_ticks),
        .end_ns = loader_optional_ns(loader, record->end_ticks),
        .bytes = record->bytes,
        .rank = loader->rank,
        .communicator = communicator,
        .callsite = callsite_of(&loader->callsites, trace, record->site),
        .persistent = record->persistent,
        .stack = record->stack,
        .root = record->root,
        .function = record->function,
        .flags = record->flags,
    };
    struct trace_collective *collective = &trace->collectives[trace->n_collectives++];
    if (record->flags & SPOOL_NONBLOCKING)
        collective->call_end_ns = loader_ns(loader, record->begin_ticks + record->call_ticks);
    else
        collective->call_end_ns = collective->end_ns != TRACE_NO_TIME ? collective->end_ns : collective->begin_ns;
}

/* When the operation took its place in matching: a matched probe does at the end of its call. */
static int64_t place_ns(const struct trace_operation *operation)
{
    return operation->flags & SPOOL_MATCHED_PROBE ? operation->post_end_ns : operation->post_ns;
}

static int compare_operations(const void *left, const void *right)
{
    const struct trace_operation *a = left, *b = right;
    int64_t a_ns = place_ns(a), b_ns = place_ns(b);
    if (a_ns != b_ns)
        return a_ns < b_ns ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    /* Of one thread at one time: the pair of a Sendrecv, its first half first. */
    return (a->flags & SPOOL_SAME_CALL) - (b->flags & SPOOL_SAME_CALL);
}

static int compare_calls(const void *left, const void *right)
{
    const struct trace_call *a = left, *b = right;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static int compare_collectives(const void *left, const void *right)
{
    const struct trace_collective *a = left, *b = right;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

/* Sorts what the process added unless it is in order already, as that of a single thread is. */
static void sort_new(void *array, size_t first, size_t end, size_t element_bytes,
                     int (*compare)(const void *, const void *))
{
    char *begin = (char *)array + first * element_bytes;
    for (size_t i = 1; i < end - first; i++)
        if (compare(begin + (i - 1) * element_bytes, begin + i * element_bytes) > 0) {
            qsort(begin, end - first, element_bytes, compare);
            return;
        }
}

static void add_rare(struct loader *loader, const uint8_t *record)
{
    if (*record == SPOOL_COLLECTIVE)
        add_collective(loader, (const void *)record);
    else if (*record == SPOOL_PERSISTENT)
        persistent_load(loader, (const void *)record);
    else if (*record == SPOOL_PARTITION)
        partition_load(loader, (const void *)record);
    else if (*record == SPOOL_RMA)
        rma_load(loader, (const void *)record);
    else if (*record == SPOOL_MARK)
        mark_load(loader, (const void *)record);
    else if (*record == SPOOL_STACK)
        stack_load(loader, (const void *)record);
}

/* What the process calls by its own numbers. */
static void resolve_numbers(struct loader *loader)
{
    stacks_resolve(loader);
    rma_resolve(loader);
    persistents_resolve(loader);
    partitions_resolve(loader);
    map_release(&loader->stacks);
    map_release(&loader->persistents);
    map_release(&loader->partitions);
}

static void load_process(struct loader *loader)
{
    struct trace *trace = loader->trace;
    struct trace_process *process = loader->process;
    const struct spool *spool = process->spool;
    loader->node = &trace->nodes[process->node];
    loader->clock_hint = 0;
    loader->partitioned = TRACE_NONE;
    loader->first_origin = trace->n_origins;
    loader->first_persistent = trace->n_persistents;
    loader->first_partition_event = trace->n_partition_events;
    process->begin_ns = clock_ns(loader->node, spool->header.start.ticks, &loader->clock_hint);
    process->end_ns = process->begin_ns;
    if (spool->header.finish.ticks != 0)
        loader_ns(loader, spool->header.finish.ticks);
    uint64_t damaged = 0;
    if (communicators_of_process(&loader->communicators, trace, spool, &damaged) != 0 ||
        callsites_of_process(&loader->callsites, trace, spool) != 0) {
        loader->no_memory = true;
        return;
    }
    process->damaged = spool->damaged + damaged;
    struct spool_cursor cursor = {.spool = spool};
    for (const uint8_t *record; !loader->no_memory && (record = spool_next(&cursor)) != NULL;) {
        loader->lane = spool_cursor_lane(&cursor);
        if (*record == SPOOL_PARTITIONS)
            partitions_load(loader, (const void *)record);
        loader->partitioned = TRACE_NONE;
        if (*record == SPOOL_OPERATION)
            add_operation(loader, (const void *)record);
        else if (*record == SPOOL_CALL)
            add_call(loader, (const void *)record);
        else
            add_rare(loader, record);
    }
    process->damaged += cursor.damaged;
    resolve_numbers(loader);
    if (trace->n_operations > process->first_operation)
        sort_new(trace->operations, process->first_operation, trace->n_operations, sizeof *trace->operations,
                 compare_operations);
    if (trace->n_calls > process->first_call)
        sort_new(trace->calls, process->first_call, trace->n_calls, sizeof *trace->calls, compare_calls);
    if (trace->n_collectives > process->first_collective)
        sort_new(trace->collectives, process->first_collective, trace->n_collectives, sizeof *trace->collectives,
                 compare_collectives);
}

int trace_load(struct trace *trace, struct error *error)
{
    struct loader loader = {.trace = trace};
    loader.no_memory = communicators_begin(&loader.communicators, trace) != 0;
    for (int32_t rank = 0; rank <= trace->world_size; rank++) {
        loader.rank = (uint32_t)rank;
        loader.process = &trace->processes[rank];
        loader.process->first_operation = trace->n_operations;
        loader.process->first_call = trace->n_calls;
        loader.process->first_collective = trace->n_collectives;
        loader.process->first_rma = trace->n_rma;
        if (loader.process->spool != NULL && !loader.no_memory)
            load_process(&loader);
    }
    communicators_release(&loader.communicators);
    callsites_release(&loader.callsites);
    map_release(&loader.stack_ids);
    if (loader.no_memory || trace->n_operations >= TRACE_NONE)
        return error_set(error, "no memory for the records of %zu processes", trace->n_spools);
    communicators_complete(trace);
    for (size_t i = 0; i < trace->n_operations; i++) {
        struct trace_operation *operation = &trace->operations[i];
        operation->peer_world = communicator_world_rank(trace, operation->communicator, operation->peer);
        operation->uncertain |= trace->communicators[operation->communicator].known ? 0 : DOUBT_COMMUNICATOR;
        operation->communicator = communicator_context(trace, operation->communicator);
    }
    for (size_t i = 0; i < trace->n_persistents; i++) {
        struct trace_persistent *request = &trace->persistents[i];
        if (request->direction <= SPOOL_RECEIVE)
            request->peer_world = communicator_world_rank(trace, request->communicator, request->peer);
        request->communicator = communicator_context(trace, request->communicator);
    }
    return 0;
}

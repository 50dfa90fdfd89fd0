/* One process after the other, by rank. Of one thread the records come in the order of its calls; with several lanes
 * the process's records are sorted by time, equal times by lane. Records that name a communicator or a rank that does
 * not exist are damaged.
 */
#include "load.h"

#include <stdlib.h>

#include "callsite.h"
#include "clock.h"
#include "communicator.h"

struct loader {
    struct trace *trace;
    struct communicator_table communicators;
    struct callsite_table callsites;
    const struct trace_node *node;
    struct trace_process *process;
    uint32_t rank;
    uint32_t lane;
    size_t clock_hint;
    bool no_memory;
};

static int64_t to_ns(struct loader *loader, uint64_t ticks)
{
    int64_t ns = clock_ns(loader->node, ticks, &loader->clock_hint);
    if (ns > loader->process->end_ns)
        loader->process->end_ns = ns;
    return ns;
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
    struct trace_operation *grown = trace_grow(trace->operations, trace->n_operations, sizeof *grown);
    if (grown == NULL) {
        loader->no_memory = true;
        return;
    }
    trace->operations = grown;
    struct trace_operation *operation = &trace->operations[trace->n_operations++];
    *operation = (struct trace_operation){
        .post_ns = to_ns(loader, record->post_ticks),
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
        .function = record->function,
        .flags = record->flags,
        .cpu_post = record->cpu_post,
        .cpu_complete = record->cpu_complete,
        .direction = record->direction,
        .uncertain = !known->known || (record->flags & SPOOL_UNCERTAIN_ORDER) != 0,
    };
    operation->post_end_ns = to_ns(loader, record->post_ticks + record->call_ticks);
    if (record->complete_ticks != 0)
        operation->complete_ns = to_ns(loader, record->complete_ticks);
}

static void add_call(struct loader *loader, const struct spool_call *record)
{
    struct trace *trace = loader->trace;
    struct trace_call *grown = trace_grow(trace->calls, trace->n_calls, sizeof *grown);
    if (grown == NULL) {
        loader->no_memory = true;
        return;
    }
    trace->calls = grown;
    trace->calls[trace->n_calls++] = (struct trace_call){
        .begin_ns = to_ns(loader, record->begin_ticks),
        .end_ns = to_ns(loader, record->begin_ticks + record->call_ticks),
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
    struct trace_collective *grown = trace_grow(trace->collectives, trace->n_collectives, sizeof *grown);
    if (grown == NULL) {
        loader->no_memory = true;
        return;
    }
    trace->collectives = grown;
    int64_t begin_ns = to_ns(loader, record->begin_ticks);
    trace->collectives[trace->n_collectives++] = (struct trace_collective){
        .begin_ns = begin_ns,
        .end_ns = record->end_ticks != 0 ? to_ns(loader, record->end_ticks) : begin_ns,
        .bytes = record->bytes,
        .rank = loader->rank,
        .communicator = communicator,
        .callsite = callsite_of(&loader->callsites, trace, record->site),
        .root = record->root,
        .function = record->function,
    };
}

static int compare_operations(const void *left, const void *right)
{
    const struct trace_operation *a = left, *b = right;
    if (a->post_ns != b->post_ns)
        return a->post_ns < b->post_ns ? -1 : 1;
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

static void load_process(struct loader *loader)
{
    struct trace *trace = loader->trace;
    struct trace_process *process = loader->process;
    const struct spool *spool = process->spool;
    loader->node = &trace->nodes[process->node];
    loader->clock_hint = 0;
    process->begin_ns = clock_ns(loader->node, spool->header.start.ticks, &loader->clock_hint);
    process->end_ns = process->begin_ns;
    if (spool->header.finish.ticks != 0)
        to_ns(loader, spool->header.finish.ticks);
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
        if (*record == SPOOL_OPERATION)
            add_operation(loader, (const void *)record);
        else if (*record == SPOOL_CALL)
            add_call(loader, (const void *)record);
        else if (*record == SPOOL_COLLECTIVE)
            add_collective(loader, (const void *)record);
    }
    process->damaged += cursor.damaged;
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
        if (loader.process->spool != NULL && !loader.no_memory)
            load_process(&loader);
    }
    communicators_release(&loader.communicators);
    callsites_release(&loader.callsites);
    if (loader.no_memory || trace->n_operations >= TRACE_NONE)
        return error_set(error, "no memory for the records of %zu processes", trace->n_spools);
    for (size_t i = 0; i < trace->n_operations; i++) {
        struct trace_operation *operation = &trace->operations[i];
        operation->peer_world = communicator_world_rank(trace, operation->communicator, operation->peer);
        operation->uncertain |= !trace->communicators[operation->communicator].known;
        operation->communicator = communicator_context(trace, operation->communicator);
    }
    return 0;
}

/* Reads one process after the other, by rank. The records of one thread come in the order of its calls; with several
 * lanes what is kept of a process is sorted by time. Records that name a communicator or a rank that does not exist are
 * damaged. There are millions of operations and completion calls. Of these only that is noted which the last reading
 * has to know beforehand: call sites, where the process posted, when it ended. */
#include "interpose/trace/records/records.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/order.h"
#include "share/base/memory.h"

/* Counts the posts of each processor: there are few in one process. */
static void count_post(struct loader *loader, int32_t cpu)
{
    struct trace_process *process = loader->process;
    size_t i = 0;
    while (i < process->n_posts && process->posts[i].cpu != cpu)
        i++;
    if (i == process->n_posts) {
        array_grow(&process->posts, i, sizeof *process->posts);
        process->posts[process->n_posts++] = (struct trace_posts){.cpu = cpu};
    }
    process->posts[i].posts++;
}

static void live_until(struct loader *loader, uint64_t ticks)
{
    if (ticks > loader->last_ticks)
        loader->last_ticks = ticks;
}

/* From that time on records of the process may be missing. */
static void lose_from(struct trace_process *process, uint64_t ticks)
{
    if (ticks < process->lost_ticks)
        process->lost_ticks = ticks;
}

/* Notes what has to be known of an operation before any is read for good. */
static void note_operation(struct loader *loader, const struct spool_operation *record)
{
    struct trace *trace = loader->trace;
    if (operation_rejected(record)) {
        rejected_load(loader, record);
        return;
    }
    if (!operation_known(trace, loader->process, record)) {
        loader->process->damaged++;
        lose_from(loader->process, record->post_ticks);
        return;
    }
    communicator_of(&loader->communicators, trace, record->communicator);
    callsite_of(&loader->callsites, trace, record->site, record->post_ticks);
    uint32_t origin = loader->left_out ? TRACE_NONE : origin_load(loader, record);
    if (record->flags & SPOOL_PARTITIONED)
        loader->partitioned = origin;
    if (record->cpu_post >= 0)
        count_post(loader, record->cpu_post);
    loader->process->off = loader->process->off || (record->flags & SPOOL_OFF);
    live_until(loader, record->post_ticks + record->call_ticks);
    live_until(loader, record->complete_ticks);
}

static void note_call(struct loader *loader, const struct spool_call *record)
{
    callsite_of(&loader->callsites, loader->trace, record->site, record->begin_ticks);
    live_until(loader, record->begin_ticks + record->call_ticks);
}

static void note_idle(struct loader *loader, const struct spool_idle *record)
{
    /* The end of the row is not known, and it ends with the module. */
    callsite_of_sum(&loader->callsites, loader->trace, record->site, record->begin_ticks,
                    record->begin_ticks + record->first_ticks);
    live_until(loader, record->begin_ticks + spool_idle_ticks(record));
}

static void add_collective(struct loader *loader, const struct spool_collective *record)
{
    struct trace *trace = loader->trace;
    uint32_t communicator = communicator_of(&loader->communicators, trace, record->communicator);
    if (communicator == TRACE_NONE) {
        loader->process->damaged++;
        return;
    }
    TRACE_ADD(trace->collectives, trace->n_collectives,
              (struct trace_collective){
                  .begin_ns = loader_ns(loader, record->begin_ticks),
                  .call_end_ns = loader_return_ns(loader, record->flags, record->begin_ticks, record->call_ticks,
                                                  record->end_ticks),
                  .end_ns = loader_optional_ns(loader, record->end_ticks),
                  .bytes = record->bytes,
                  .rank = loader->rank,
                  .communicator = communicator,
                  .callsite = callsite_of(&loader->callsites, trace, record->site, record->begin_ticks),
                  .persistent = record->persistent,
                  .stack = record->stack,
                  .root = record->root,
                  .function = record->function,
                  .flags = record->flags,
              });
}

/* Compares collectives, or accesses, whose begin is their first member. */
static int compare_begin(const void *left, const void *right)
{
    _Static_assert(offsetof(struct trace_collective, begin_ns) == 0 && offsetof(struct trace_access, begin_ns) == 0,
                   "");
    return ORDER(*(const int64_t *)left, *(const int64_t *)right);
}

/* Sorts what the process added unless it is in order already, as it is with a single thread. */
static void sort_new(void *array, size_t first, size_t end, size_t element_bytes)
{
    char *begin = (char *)array + first * element_bytes;
    for (size_t i = 1; i < end - first; i++)
        if (compare_begin(begin + (i - 1) * element_bytes, begin + i * element_bytes) > 0) {
            qsort(begin, end - first, element_bytes, compare_begin);
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
    else if (*record == SPOOL_ACCESS)
        access_load(loader, (const void *)record);
    else if (*record == SPOOL_MARK)
        mark_load(loader, (const void *)record);
    else if (*record == SPOOL_STACK)
        stack_load(loader, (const void *)record);
}

/* Resolves the numbers that the process itself gave. */
static void resolve_numbers(struct loader *loader)
{
    stacks_resolve(loader);
    accesses_resolve(loader);
    persistents_resolve(loader);
    partitions_resolve(loader);
    map_release(&loader->stacks);
    map_release(&loader->persistents);
    map_release(&loader->partitions);
}

/* Finds the lanes of a process, in the order of its spans. */
static void find_lanes(struct loader *loader)
{
    struct trace_process *process = loader->process;
    const struct spool *spool = process->spool;
    for (size_t i = 0; i < spool->n_spans; i++) {
        if (process->n_lanes > 0 && process->lanes[process->n_lanes - 1].number == spool->spans[i].lane) {
            process->lanes[process->n_lanes - 1].end_span = i + 1;
            continue;
        }
        ARRAY_ADD(process->lanes, process->n_lanes,
                  (struct trace_lane){.number = spool->spans[i].lane, .first_span = i, .end_span = i + 1});
    }
}

/* Notes what the totals name of a call that becomes no row. */
static void note_outside(struct loader *loader, const uint8_t *record)
{
    const struct spool_collective *collective = (const void *)record;
    const struct spool_access *access = (const void *)record;
    if (*record == SPOOL_COLLECTIVE) {
        communicator_of(&loader->communicators, loader->trace, collective->communicator);
        callsite_of(&loader->callsites, loader->trace, collective->site, collective->begin_ticks);
        live_until(loader, collective->end_ticks);
    } else if (*record == SPOOL_ACCESS) {
        callsite_of(&loader->callsites, loader->trace, access->site, access->begin_ticks);
        live_until(loader, access->end_ticks);
    }
}

static void load_lane(struct loader *loader, struct trace_lane *lane)
{
    struct spool_cursor cursor = {
        .spool = loader->process->spool, .span = lane->first_span, .end_span = lane->end_span};
    lane->first_origin = loader->trace->n_origins;
    loader->lane = lane->number;
    bool thinned = loader->trace->bursts.thinned;
    if (thinned)
        joint_begin_lane(loader, lane);
    for (const uint8_t *record; (record = spool_next(&cursor)) != NULL;) {
        if (*record == SPOOL_PARTITIONS && !loader->left_out)
            partitions_load(loader, (const void *)record);
        loader->partitioned = TRACE_NONE;
        bool inside = !thinned || joint_take(loader, record, cursor.span);
        loader->left_out = !inside && *record == SPOOL_OPERATION;
        if (!inside && (*record == SPOOL_COLLECTIVE || *record == SPOOL_ACCESS || *record == SPOOL_PARTITION))
            note_outside(loader, record);
        else if (*record == SPOOL_OPERATION)
            note_operation(loader, (const void *)record);
        else if (*record == SPOOL_CALL)
            note_call(loader, (const void *)record);
        else if (*record == SPOOL_IDLE)
            note_idle(loader, (const void *)record);
        else
            add_rare(loader, record);
    }
    if (thinned)
        joint_end_lane(loader, lane);
    loader->process->damaged += cursor.damaged;
    if (cursor.damaged > 0)
        lose_from(loader->process, 0);
}

/* Keeps the process's numbers of communicators for the last reading. */
static void keep_communicators(struct loader *loader)
{
    struct trace_process *process = loader->process;
    process->n_communicators = loader->communicators.n_local;
    process->communicators = xcalloc(process->n_communicators, sizeof *process->communicators);
    for (size_t i = 0; i < process->n_communicators; i++)
        process->communicators[i] = loader->communicators.local[i];
}

/* Returns when the last chunk of the file was begun. */
static uint64_t last_chunk_ticks(const struct spool *spool)
{
    const struct spool_span *last = NULL;
    for (size_t i = 0; i < spool->n_spans; i++)
        if (last == NULL || spool->spans[i].begin > last->begin)
            last = &spool->spans[i];
    struct spool_chunk chunk = {.clock = {0}};
    if (last != NULL)
        memcpy(&chunk, spool->data + last->begin - sizeof chunk, sizeof chunk);
    return chunk.clock.ticks;
}

/* Takes over what the spool itself knows of losses. A lane that gets no further chunk is stopped for good; without
 * memory single records are lost, and where damaged ones were is unknown. */
static void find_losses(struct loader *loader)
{
    struct trace_process *process = loader->process;
    const struct spool *spool = process->spool;
    bool stopped = false;
    process->lost_ticks = TRACE_NOT_LOST;
    process->stopped_ns = process->uncounted_ns = TRACE_NO_TIME;
    for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
        if (spool->header.lost[i] > 0) {
            lose_from(process, spool->header.lost_ticks);
            stopped = stopped || i != SPOOL_LOSS_MEMORY;
        }
    if (spool->cut_off > 0) {
        /* Chunks that are used again lie in any order. */
        lose_from(process, spool->header.folded_chunks > 0 ? 0 : last_chunk_ticks(spool));
        stopped = true;
    }
    if (stopped && process->lost_ticks > 0)
        process->stopped_ns = clock_ns(loader->node, process, process->lost_ticks, &loader->clock_hint);
    if (spool->damaged > 0)
        lose_from(process, 0);
}

/* Notes call sites that only the totals of the recorder name. */
static void note_totals(struct loader *loader)
{
    struct spool_folded folded;
    spool_folded_read(loader->process->spool, &folded);
    for (uint32_t i = 0; folded.totals.slots != NULL && i < folded.totals.n_slots; i++)
        if (folded.totals.slots[i].calls > 0)
            callsite_of_any(&loader->callsites, loader->trace, folded.totals.slots[i].site);
    loader->process->damaged += folded.damaged;
    spool_folded_free(&folded);
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
    loader->last_ticks = spool->header.start.ticks;
    process->begin_ns = clock_ns(loader->node, process, spool->header.start.ticks, &loader->clock_hint);
    process->end_ns = process->begin_ns;
    live_until(loader, spool->header.finish.ticks);
    uint64_t damaged = 0;
    communicators_of_process(&loader->communicators, trace, spool, &damaged);
    callsites_of_process(&loader->callsites, trace, spool);
    process->damaged = spool->damaged + damaged;
    find_losses(loader);
    if (spool->header.processor > 0) /* all that is known of a process without records of posts */
        count_post(loader, (int32_t)spool->header.processor - 1);
    keep_communicators(loader);
    find_lanes(loader);
    if (trace->bursts.thinned)
        joint_begin_process(loader);
    for (size_t i = 0; i < process->n_lanes; i++)
        load_lane(loader, &process->lanes[i]);
    if (trace->bursts.thinned)
        joint_end_process(loader);
    loader_ns(loader, loader->last_ticks);
    resolve_numbers(loader);
    note_totals(loader);
    process->callsites = callsites_take(&loader->callsites);
    if (trace->n_accesses > process->first_access)
        sort_new(trace->accesses, process->first_access, trace->n_accesses, sizeof *trace->accesses);
    if (trace->n_collectives > process->first_collective)
        sort_new(trace->collectives, process->first_collective, trace->n_collectives, sizeof *trace->collectives);
}

void trace_load(struct trace *trace)
{
    struct loader loader = {.trace = trace};
    communicators_begin(&loader.communicators, trace);
    for (int32_t rank = 0; rank <= trace->world_size; rank++) {
        loader.rank = (uint32_t)rank;
        loader.process = &trace->processes[rank];
        loader.process->first_collective = trace->n_collectives;
        loader.process->first_access = trace->n_accesses;
        if (loader.process->spool != NULL)
            load_process(&loader);
    }
    communicators_release(&loader.communicators);
    callsites_release(&loader.callsites);
    map_release(&loader.stack_ids);
    communicators_complete(trace);
    for (size_t i = 0; i < trace->n_persistents; i++) {
        struct trace_persistent *request = &trace->persistents[i];
        if (request->direction <= SPOOL_RECEIVE)
            request->peer_world = communicator_world_rank(trace, request->communicator, request->peer);
        request->communicator = communicator_context(trace, request->communicator);
    }
    persistents_number(trace);
}

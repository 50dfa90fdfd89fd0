/* A start is an operation like any other, matched in the order of starts. What it has in common with the other starts
 * of its request is stored once, in a row of `persistent`; the row of `origin` links the two. */
#include "interpose/trace/records/records.h"

#include <stdlib.h>

#include "interpose/database/row.h"
#include "share/base/order.h"

void persistent_load(struct loader *loader, const struct spool_persistent *record)
{
    struct trace *trace = loader->trace;
    uint32_t communicator = communicator_of(&loader->communicators, trace, record->communicator);
    bool collective = record->direction == UINT8_MAX;
    if (communicator == TRACE_NONE || record->number == 0 || (!collective && record->direction > SPOOL_RECEIVE)) {
        loader->process->damaged++;
        return;
    }
    TRACE_ADD(trace->persistents, trace->n_persistents,
              (struct trace_persistent){
                  .begin_ns = loader_ns(loader, record->begin_ticks),
                  .end_ns = loader_ns(loader, record->begin_ticks + record->call_ticks),
                  .bytes = record->bytes,
                  .rank = loader->rank,
                  .number = record->number,
                  .communicator = communicator,
                  .peer = record->peer,
                  .peer_world = -1,
                  .tag = record->tag,
                  .partitions = record->partitions,
                  .ordinal = TRACE_NONE,
                  .callsite = callsite_of(&loader->callsites, trace, record->site, record->begin_ticks),
                  .lane = record->lane,
                  .function = record->function,
                  .direction = record->direction,
              });
}

uint32_t origin_load(struct loader *loader, const struct spool_operation *record)
{
    struct trace *trace = loader->trace;
    if (!record_has_origin(record))
        return TRACE_NONE;
    trace_grow(&trace->origins, trace->n_origins, sizeof *trace->origins);
    trace->origins[trace->n_origins] = (struct trace_origin){
        .persistent = record->persistent, .stack = record->stack, .rank = loader->rank, .direction = record->direction};
    return (uint32_t)trace->n_origins++;
}

static int compare_begins(const void *left, const void *right)
{
    const struct trace_persistent *a = left, *b = right;
    return ORDER(a->begin_ns, b->begin_ns) ?: ORDER(a->lane, b->lane) ?: ORDER(a->number, b->number);
}

void persistents_resolve(struct loader *loader)
{
    struct trace *trace = loader->trace;
    size_t first = loader->first_persistent;
    if (trace->n_persistents > first + 1)
        qsort(trace->persistents + first, trace->n_persistents - first, sizeof *trace->persistents, compare_begins);
    for (size_t i = first; i < trace->n_persistents; i++)
        if (!loader_note(&loader->persistents, trace->persistents[i].number, i))
            loader->process->damaged++;
    for (size_t i = loader->first_origin; i < trace->n_origins; i++) {
        struct trace_origin *origin = &trace->origins[i];
        origin->persistent = loader_resolve(loader, &loader->persistents, origin->persistent);
        if (origin->persistent != TRACE_NONE)
            trace->persistents[origin->persistent].starts++;
    }
    for (size_t i = loader->process->first_collective; i < trace->n_collectives; i++) {
        struct trace_collective *collective = &trace->collectives[i];
        collective->persistent = loader_resolve(loader, &loader->persistents, collective->persistent);
        if (collective->persistent != TRACE_NONE && !(collective->flags & SPOOL_OFF))
            trace->persistents[collective->persistent].starts++;
    }
}

void persistents_number(struct trace *trace)
{
    struct map latest = {0}; /* (rank, communicator, peer, tag, direction) -> the last such request */
    for (uint32_t i = 0; i < trace->n_persistents; i++) {
        struct trace_persistent *request = &trace->persistents[i];
        if (request->partitions == 0 || request->direction > SPOOL_RECEIVE || request->peer_world < 0)
            continue;
        uint32_t *last =
            map_at(&latest, (struct map_key){(uint64_t)request->rank << 32 | request->communicator,
                                             (uint64_t)(uint32_t)request->peer << 32 | (uint32_t)request->tag,
                                             request->direction});
        request->ordinal = 0;
        if (*last != MAP_ABSENT) {
            struct trace_persistent *before = &trace->persistents[*last];
            request->ordinal = before->ordinal + 1;
            if (before->lane != request->lane && before->end_ns > request->begin_ns) {
                before->uncertain |= DOUBT_THREADS;
                request->uncertain |= DOUBT_THREADS;
            }
        }
        *last = i;
    }
    map_release(&latest);
}

int persistents_write(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "persistent", 12), origins = row_prepare(database, "origin", 5);
    for (uint32_t i = 0; i < trace->n_persistents; i++) {
        const struct trace_persistent *request = &trace->persistents[i];
        bool tagged = request->direction <= SPOOL_RECEIVE && request->tag >= 0;
        row_insert(&row, "kuttnuniiiuu", i, request->rank, function_name(request->function),
                   direction_name(request->direction), request->peer_world, request->communicator,
                   tagged ? request->tag : -1, request->bytes, (int64_t)request->partitions,
                   trace_run_ns(trace, request->rank, request->begin_ns), request->starts, request->callsite);
    }
    for (size_t i = 0; i < trace->n_origins; i++) {
        const struct trace_origin *origin = &trace->origins[i];
        if ((origin->message_id == 0 && origin->unmatched_id == 0) ||
            (origin->persistent == TRACE_NONE && origin->stack == TRACE_NONE))
            continue;
        row_insert(&origins, "zztkk", origin->message_id, origin->unmatched_id, direction_name(origin->direction),
                   origin->persistent, origin->stack);
    }
    return row_finish(&row) | row_finish(&origins);
}

/* A partitioned operation completes as one, but its partitions become ready one by one, and this is what its users want
 * to see. Few programs have them, so their records stay apart from the operations'. */

void partitions_load(struct loader *loader, const struct spool_partitions *record)
{
    struct trace *trace = loader->trace;
    if (loader->partitioned == TRACE_NONE || record->number == 0 ||
        !loader_note(&loader->partitions, record->number, trace->n_partitions)) {
        loader->process->damaged++;
        return;
    }
    TRACE_ADD(trace->partitions, trace->n_partitions,
              (struct trace_partitions){
                  .first_ns = loader_optional_ns(loader, record->first_ticks),
                  .last_ns = loader_optional_ns(loader, record->last_ticks),
                  .origin = loader->partitioned,
                  .done = record->done,
                  .partitions = record->partitions,
              });
}

void partition_load(struct loader *loader, const struct spool_partition *record)
{
    struct trace *trace = loader->trace;
    TRACE_ADD(trace->partition_events, trace->n_partition_events,
              (struct trace_partition){
                  .at_ns = loader_ns(loader, record->ticks),
                  .partitions = record->number,
                  .partition = record->partition,
                  .callsite = callsite_of(&loader->callsites, trace, record->site, record->ticks),
                  .function = record->function,
              });
}

void partitions_resolve(struct loader *loader)
{
    struct trace *trace = loader->trace;
    for (size_t i = loader->first_partition_event; i < trace->n_partition_events; i++) {
        struct trace_partition *partition = &trace->partition_events[i];
        uint32_t number = partition->partitions;
        partition->partitions = loader_resolve(loader, &loader->partitions, number);
        bool beyond = partition->partitions != TRACE_NONE &&
                      partition->partition >= trace->partitions[partition->partitions].partitions;
        if (number == 0 || beyond) {
            loader->process->damaged++;
            partition->partitions = TRACE_NONE;
        }
    }
}

/* Writes the row of partitions of an operation, or of one of them, unless the operation was left out. */
static void write_partition(struct row *row, const struct trace *trace, uint32_t partitions, int64_t partition,
                            const int64_t times_ns[2], uint32_t done, const char *function, uint32_t callsite)
{
    const struct trace_partitions *all = &trace->partitions[partitions];
    const struct trace_origin *origin = &trace->origins[all->origin];
    if (origin->message_id == 0 && origin->unmatched_id == 0)
        return;
    row_insert(row, "zzutoooiitu", origin->message_id, origin->unmatched_id, origin->rank,
               direction_name(origin->direction), partition, trace_run_ns(trace, origin->rank, times_ns[0]),
               trace_run_ns(trace, origin->rank, times_ns[1]), (int64_t)done, (int64_t)all->partitions, function,
               callsite);
}

int partitions_write(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "partition", 11);
    for (uint32_t i = 0; i < trace->n_partitions; i++) {
        const struct trace_partitions *all = &trace->partitions[i];
        write_partition(&row, trace, i, TRACE_NO_TIME, (const int64_t[]){all->first_ns, all->last_ns}, all->done, NULL,
                        TRACE_NONE);
    }
    for (size_t i = 0; i < trace->n_partition_events; i++) {
        const struct trace_partition *one = &trace->partition_events[i];
        if (one->partitions != TRACE_NONE)
            write_partition(&row, trace, one->partitions, one->partition, (const int64_t[]){one->at_ns, one->at_ns}, 1,
                            function_name(one->function), one->callsite);
    }
    return row_finish(&row);
}

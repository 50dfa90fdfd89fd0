/* A partitioned operation completes as one, but its partitions become ready one by one, and this is what its users want
 * to see. Few programs have them, so their records stay apart from the operations'. */
#include "interpose/trace/records/records.h"

#include "interpose/database/row.h"

void partitions_load(struct loader *loader, const struct spool_partitions *record)
{
    struct trace *trace = loader->trace;
    if (loader->partitioned == TRACE_NONE || record->number == 0 ||
        !loader_note(&loader->partitions, record->number, trace->n_partitions)) {
        loader->process->damaged++;
        return;
    }
    trace_grow(&trace->partitions, trace->n_partitions, sizeof *trace->partitions);
    trace->partitions[trace->n_partitions++] = (struct trace_partitions){
        .first_ns = loader_optional_ns(loader, record->first_ticks),
        .last_ns = loader_optional_ns(loader, record->last_ticks),
        .origin = loader->partitioned,
        .done = record->done,
        .partitions = record->partitions,
    };
}

void partition_load(struct loader *loader, const struct spool_partition *record)
{
    struct trace *trace = loader->trace;
    trace_grow(&trace->partition_events, trace->n_partition_events, sizeof *trace->partition_events);
    trace->partition_events[trace->n_partition_events++] = (struct trace_partition){
        .at_ns = loader_ns(loader, record->ticks),
        .partitions = record->number,
        .partition = record->partition,
        .callsite = callsite_of(&loader->callsites, trace, record->site, record->ticks),
        .function = record->function,
    };
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

/* Finds the row with which both kinds of rows begin, that of the operation; false if the operation was left out. */
static bool has_row(const struct trace *trace, uint32_t partitions, int64_t ids[2], const struct trace_origin **origin)
{
    *origin = &trace->origins[trace->partitions[partitions].origin];
    ids[0] = (*origin)->message_id != 0 ? (*origin)->message_id : TRACE_NO_TIME;
    ids[1] = (*origin)->unmatched_id != 0 ? (*origin)->unmatched_id : TRACE_NO_TIME;
    return (*origin)->message_id != 0 || (*origin)->unmatched_id != 0;
}

static int64_t partition_run_ns(const struct trace *trace, const struct trace_origin *origin, int64_t ns)
{
    return ns == TRACE_NO_TIME ? ns : clock_run_ns(&trace->nodes[trace->processes[origin->rank].node], ns);
}

int partitions_write(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "partition", 11);
    const struct trace_origin *origin;
    int64_t ids[2];
    for (uint32_t i = 0; i < trace->n_partitions; i++) {
        const struct trace_partitions *summary = &trace->partitions[i];
        if (!has_row(trace, i, ids, &origin))
            continue;
        row_insert(&row, "ooitoooiitu", ids[0], ids[1], (int64_t)origin->rank,
                   origin->direction == SPOOL_SEND ? "send" : "receive", TRACE_NO_TIME,
                   partition_run_ns(trace, origin, summary->first_ns),
                   partition_run_ns(trace, origin, summary->last_ns), (int64_t)summary->done,
                   (int64_t)summary->partitions, NULL, TRACE_NONE);
    }
    for (size_t i = 0; i < trace->n_partition_events; i++) {
        const struct trace_partition *partition = &trace->partition_events[i];
        if (partition->partitions == TRACE_NONE || !has_row(trace, partition->partitions, ids, &origin))
            continue;
        int64_t at_ns = partition_run_ns(trace, origin, partition->at_ns);
        row_insert(&row, "ooitoooiitu", ids[0], ids[1], (int64_t)origin->rank,
                   origin->direction == SPOOL_SEND ? "send" : "receive", (int64_t)partition->partition, at_ns, at_ns,
                   (int64_t)1, (int64_t)trace->partitions[partition->partitions].partitions,
                   function_name(partition->function), partition->callsite);
    }
    return row_finish(&row);
}

/* Writes what the first reading kept of rare records, once all operations are written: the ids of their rows stand in
 * trace.origins then. */
#include "interpose/trace/write/tables.h"

#include "interpose/database/row.h"
#include "interpose/trace/records/records.h"
#include "interpose/trace/rows/sink.h"

/* Returns the name of a direction, or of UINT8_MAX, in the trace. */
static const char *direction_name(uint8_t direction)
{
    return direction == SPOOL_SEND ? "send" : direction == SPOOL_RECEIVE ? "receive" : "collective";
}

/* A start is an operation like any other. What it has in common with the other starts of its request is stored once, in
 * a row of `persistent`; the row of `origin` links the two. */
static int write_persistents(const struct trace *trace, sqlite3 *database)
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

/* A partitioned operation completes as one, but its partitions become ready one by one. */
static int write_partitions(const struct trace *trace, sqlite3 *database)
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

static int write_marks(const struct trace *trace, sqlite3 *database)
{
    struct row mark = row_prepare(database, "mark", 4), off = row_prepare(database, "recording_off", 5);
    for (size_t i = 0; i < trace->n_calls; i++) {
        const struct trace_call *call = &trace->calls[i];
        if (call->sort == CALL_MARK && !(call->flags & SPOOL_BY_WINDOW))
            row_insert(&mark, "ubiu", call->rank, call->peer, call->begin_ns, call->callsite);
    }
    for (size_t i = 0; i < trace->n_offs; i++)
        row_insert(&off, "uiiii", trace->offs[i].rank, trace->offs[i].begin_ns, trace->offs[i].end_ns,
                   trace->offs[i].operations, trace->offs[i].partners);
    return row_finish(&mark) | row_finish(&off);
}

static int write_stacks(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "stack", 3);
    for (uint32_t i = 0; i < trace->n_stacks; i++)
        for (uint32_t depth = 0; depth < trace->stacks[i].n_frames; depth++)
            row_insert(&row, "kuu", i, depth, trace->frames[trace->stacks[i].first + depth]);
    return row_finish(&row);
}

static int write_rejected(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "rejected", 4);
    for (size_t i = 0; i < trace->n_rejected; i++) {
        const struct trace_rejected *rejected = &trace->rejected[i];
        row_insert(&row, "utui", rejected->rank, function_name(rejected->function), rejected->callsite,
                   rejected->calls);
    }
    return row_finish(&row);
}

int write_records(const struct trace *trace, sqlite3 *database)
{
    bool failed = write_persistents(trace, database) != 0 || write_partitions(trace, database) != 0 ||
                  write_stacks(trace, database) != 0 || write_rejected(trace, database) != 0 ||
                  write_marks(trace, database) != 0;
    return failed ? -1 : 0;
}

/* Calls on windows and files have no partner that recorded them, so they stay apart from matching: they are loaded
 * whole and written as they are. */
#include "interpose/trace/records/records.h"

#include "interpose/trace/rows/sink.h"
#include "interpose/database/row.h"

void access_load(struct loader *loader, const struct spool_access *record)
{
    struct trace *trace = loader->trace;
    uint32_t communicator;
    if (!loader_communicator(loader, record->communicator, record->target, &communicator))
        return;
    trace_grow(&trace->accesses, trace->n_accesses, sizeof *trace->accesses);
    trace->accesses[trace->n_accesses] = (struct trace_access){
        .begin_ns = loader_ns(loader, record->begin_ticks),
        .end_ns = loader_optional_ns(loader, record->end_ticks),
        .bytes = record->bytes,
        .rank = loader->rank,
        .communicator = communicator,
        .target = record->target,
        .object = record->object,
        .offset = record->offset,
        .callsite = callsite_of(&loader->callsites, trace, record->site, record->begin_ticks),
        .stack = record->stack,
        .function = record->function,
        .flags = record->flags,
    };
    struct trace_access *call = &trace->accesses[trace->n_accesses++];
    if (record->flags & SPOOL_NONBLOCKING)
        call->call_end_ns = loader_ns(loader, record->begin_ticks + record->call_ticks);
    else
        call->call_end_ns = call->end_ns != TRACE_NO_TIME ? call->end_ns : call->begin_ns;
}

void accesses_resolve(struct loader *loader)
{
    for (size_t i = loader->process->first_access; i < loader->trace->n_accesses; i++)
        loader->trace->accesses[i].stack = loader_resolve(loader, &loader->stacks, loader->trace->accesses[i].stack);
}

int64_t access_run_ns(const struct trace *trace, const struct trace_access *call, int64_t ns)
{
    return ns == TRACE_NO_TIME ? ns : clock_run_ns(&trace->nodes[trace->processes[call->rank].node], ns);
}

bool access_is_collective(uint16_t function)
{
    enum mpistair_family family = function_family(function);
    return family != FAMILY_FILE && family != FAMILY_FILE_REQUEST;
}

static void write_rma(struct row *row, const struct trace *trace, int64_t id, const struct trace_access *call)
{
    int64_t begin_ns = access_run_ns(trace, call, call->begin_ns);
    int32_t target =
        call->communicator == TRACE_NONE ? -1 : communicator_world_rank(trace, call->communicator, call->target);
    row_insert(row, "iituuniioioiu", id, (int64_t)call->rank, function_name(call->function), call->communicator,
               call->object == 0 ? TRACE_NONE : call->object, target, (int64_t)call->bytes, begin_ns,
               access_run_ns(trace, call, call->end_ns), access_run_ns(trace, call, call->call_end_ns) - begin_ns,
               call->stack == TRACE_NONE ? TRACE_NO_TIME : (int64_t)call->stack + 1,
               (int64_t)((call->flags & SPOOL_NONBLOCKING) != 0), call->callsite);
}

static void write_file_call(struct row *row, const struct trace *trace, int64_t id, const struct trace_access *call)
{
    int64_t begin_ns = access_run_ns(trace, call, call->begin_ns);
    bool failed = (call->flags & SPOOL_FAILED) != 0;
    row_insert(row, "iituuioioiiiiou", id, (int64_t)call->rank, function_name(call->function), call->communicator,
               call->object == 0 ? TRACE_NONE : call->object, failed ? (int64_t)0 : (int64_t)call->bytes,
               call->offset < 0 ? TRACE_NO_TIME : call->offset, begin_ns, access_run_ns(trace, call, call->end_ns),
               access_run_ns(trace, call, call->call_end_ns) - begin_ns,
               (int64_t)((call->flags & SPOOL_NONBLOCKING) != 0), (int64_t)access_is_collective(call->function),
               (int64_t)failed, call->stack == TRACE_NONE ? TRACE_NO_TIME : (int64_t)call->stack + 1, call->callsite);
}

int accesses_write(const struct trace *trace, sqlite3 *database, bool calls)
{
    struct row rma = row_prepare(database, "rma", 13), file_call = row_prepare(database, "file_call", 15);
    struct row call_row = row_prepare(database, "call_row", 7);
    int64_t n_rma = 0, n_file_calls = 0;
    for (size_t i = 0; i < trace->n_accesses; i++) {
        const struct trace_access *call = &trace->accesses[i];
        int64_t begin_ns = access_run_ns(trace, call, call->begin_ns);
        if (function_is_of_file(call->function))
            write_file_call(&file_call, trace, ++n_file_calls, call);
        else
            write_rma(&rma, trace, ++n_rma, call);
        if (calls)
            row_insert(&call_row, "iiiiiiu", (int64_t)call->rank, function_id(call->function), begin_ns,
                       access_run_ns(trace, call, call->call_end_ns) - begin_ns, (int64_t)0, (int64_t)0,
                       call->callsite);
    }
    return row_finish(&rma) | row_finish(&file_call) | row_finish(&call_row);
}

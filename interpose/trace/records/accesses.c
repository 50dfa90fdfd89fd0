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
    TRACE_ADD(trace->accesses, trace->n_accesses,
              (struct trace_access){
                  .begin_ns = loader_ns(loader, record->begin_ticks),
                  .call_end_ns = loader_return_ns(loader, record->flags, record->begin_ticks, record->call_ticks,
                                                  record->end_ticks),
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
              });
}

void accesses_resolve(struct loader *loader)
{
    for (size_t i = loader->process->first_access; i < loader->trace->n_accesses; i++)
        loader->trace->accesses[i].stack = loader_resolve(loader, &loader->stacks, loader->trace->accesses[i].stack);
}

bool access_is_collective(uint16_t function)
{
    enum mpistair_family family = function_family(function);
    return family != FAMILY_FILE && family != FAMILY_FILE_REQUEST;
}

int accesses_write(const struct trace *trace, sqlite3 *database, bool calls)
{
    struct row rma = row_prepare(database, "rma", 14), file_call = row_prepare(database, "file_call", 16);
    struct row call_row = row_prepare(database, "call_row", 7);
    int64_t n_rma = 0, n_file_calls = 0;
    for (size_t i = 0; i < trace->n_accesses; i++) {
        const struct trace_access *call = &trace->accesses[i];
        if (call->flags & SPOOL_OFF)
            continue;
        const char *name = function_name(call->function);
        int64_t begin_ns = trace_run_ns(trace, call->rank, call->begin_ns);
        int64_t end_ns = trace_run_ns(trace, call->rank, call->end_ns);
        int64_t call_ns = trace_run_ns(trace, call->rank, call->call_end_ns) - begin_ns;
        bool nonblocking = (call->flags & SPOOL_NONBLOCKING) != 0, failed = (call->flags & SPOOL_FAILED) != 0;
        if (function_is_of_file(call->function))
            row_insert(&file_call, "iutuzioioibbbkuz", ++n_file_calls, call->rank, name, call->communicator,
                       (int64_t)call->object, failed ? (uint64_t)0 : call->bytes,
                       call->offset < 0 ? TRACE_NO_TIME : call->offset, begin_ns, end_ns, call_ns, nonblocking,
                       access_is_collective(call->function), failed, call->stack, call->callsite,
                       (int64_t)call->instance);
        else
            row_insert(&rma, "iutuzniioikbuz", ++n_rma, call->rank, name, call->communicator, (int64_t)call->object,
                       call->communicator == TRACE_NONE
                           ? -1
                           : communicator_world_rank(trace, call->communicator, call->target),
                       call->bytes, begin_ns, end_ns, call_ns, call->stack, nonblocking, call->callsite,
                       (int64_t)call->instance);
        if (calls)
            row_insert(&call_row, "uiiibbu", call->rank, function_id(call->function), begin_ns, call_ns, 0, 0,
                       call->callsite);
    }
    return row_finish(&rma) | row_finish(&file_call) | row_finish(&call_row);
}

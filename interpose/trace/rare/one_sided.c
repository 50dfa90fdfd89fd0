/* One-sided calls have no partner that recorded them, so they stay apart from matching: they are loaded whole and
 * written as they are. */
#include "interpose/trace/rare/one_sided.h"

#include "interpose/trace/rows/form.h"
#include "interpose/database/row.h"
#include "interpose/trace/rare/stacks.h"

void rma_load(struct loader *loader, const struct spool_rma *record)
{
    struct trace *trace = loader->trace;
    uint32_t communicator;
    if (!loader_communicator(loader, record->communicator, record->target, &communicator))
        return;
    if (loader_grow(loader, &trace->rma, trace->n_rma, sizeof *trace->rma) != 0)
        return;
    loader_count_bytes(loader, record->bytes);
    trace->rma[trace->n_rma] = (struct trace_rma){
        .begin_ns = loader_ns(loader, record->begin_ticks),
        .end_ns = loader_optional_ns(loader, record->end_ticks),
        .bytes = record->bytes,
        .rank = loader->rank,
        .communicator = communicator,
        .target = record->target,
        .window = record->window,
        .callsite = callsite_of(&loader->callsites, trace, record->site),
        .stack = record->stack,
        .function = record->function,
        .flags = record->flags,
    };
    struct trace_rma *call = &trace->rma[trace->n_rma++];
    if (record->flags & SPOOL_NONBLOCKING)
        call->call_end_ns = loader_ns(loader, record->begin_ticks + record->call_ticks);
    else
        call->call_end_ns = call->end_ns != TRACE_NO_TIME ? call->end_ns : call->begin_ns;
}

void rma_resolve(struct loader *loader)
{
    for (size_t i = loader->process->first_rma; i < loader->trace->n_rma; i++)
        loader->trace->rma[i].stack = loader_resolve(loader, &loader->stacks, loader->trace->rma[i].stack);
}

int64_t rma_run_ns(const struct trace *trace, const struct trace_rma *call, int64_t ns)
{
    return ns == TRACE_NO_TIME ? ns : clock_run_ns(&trace->nodes[trace->processes[call->rank].node], ns);
}

int rma_write(const struct trace *trace, sqlite3 *database, bool calls)
{
    struct row row = row_prepare(database, "rma", 13), call_row = row_prepare(database, "call_row", 7);
    for (size_t i = 0; i < trace->n_rma; i++) {
        const struct trace_rma *call = &trace->rma[i];
        int64_t begin_ns = rma_run_ns(trace, call, call->begin_ns);
        int64_t call_end_ns = rma_run_ns(trace, call, call->call_end_ns);
        int32_t target =
            call->communicator == TRACE_NONE ? -1 : communicator_world_rank(trace, call->communicator, call->target);
        row_insert(&row, "iituuniioioiu", (int64_t)i + 1, (int64_t)call->rank, function_name(call->function),
                   call->communicator, call->window == 0 ? TRACE_NONE : call->window, target, (int64_t)call->bytes,
                   begin_ns, rma_run_ns(trace, call, call->end_ns), call_end_ns - begin_ns,
                   call->stack == TRACE_NONE ? TRACE_NO_TIME : (int64_t)call->stack + 1,
                   (int64_t)((call->flags & SPOOL_NONBLOCKING) != 0), call->callsite);
        if (calls)
            row_insert(&call_row, "iiiiiiu", (int64_t)call->rank, function_id(call->function), begin_ns,
                       call_end_ns - begin_ns, (int64_t)0, (int64_t)0, call->callsite);
    }
    return row_finish(&row) | row_finish(&call_row);
}

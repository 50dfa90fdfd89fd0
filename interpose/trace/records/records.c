/* Times, communicators and numbers of the process whose records are read, and what these say of themselves. */
#include "interpose/trace/records/records.h"

int64_t loader_ns(struct loader *loader, uint64_t ticks)
{
    int64_t ns = clock_ns(loader->node, loader->process, ticks, &loader->clock_hint);
    if (ns > loader->process->end_ns)
        loader->process->end_ns = ns;
    return ns;
}

int64_t loader_optional_ns(struct loader *loader, uint64_t ticks)
{
    return ticks == 0 ? TRACE_NO_TIME : loader_ns(loader, ticks);
}

int64_t loader_return_ns(struct loader *loader, uint16_t flags, uint64_t begin_ticks, uint32_t call_ticks,
                         uint64_t end_ticks)
{
    bool ended = end_ticks != 0;
    return loader_ns(loader, flags & SPOOL_NONBLOCKING ? begin_ticks + call_ticks : ended ? end_ticks : begin_ticks);
}

bool loader_note(struct map *map, uint32_t number, size_t index)
{
    uint32_t *known = map_at(map, (struct map_key){number, 0, 0});
    if (*known != MAP_ABSENT)
        return false;
    *known = (uint32_t)index;
    return true;
}

bool loader_communicator(struct loader *loader, uint32_t index, int32_t target, uint32_t *communicator)
{
    *communicator = TRACE_NONE;
    if (index == SPOOL_NO_COMMUNICATOR)
        return true;
    *communicator = communicator_of(&loader->communicators, loader->trace, index);
    if (*communicator != TRACE_NONE && target < loader->trace->communicators[*communicator].size)
        return true;
    loader->process->damaged++;
    return false;
}

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
    loader->process->damaged += lost == 0 && !loader->trace->bursts.thinned;
    return TRACE_NONE;
}

/* True if MPI may have rejected the call after a look at what it named. */
static bool may_be_rejected(const struct spool_operation *record)
{
    return record->complete_ticks == 0 || (record->flags & SPOOL_FAILED);
}

bool operation_known(const struct trace *trace, const struct trace_process *process,
                     const struct spool_operation *record)
{
    uint32_t communicator =
        record->communicator < process->n_communicators ? process->communicators[record->communicator] : TRACE_NONE;
    if (communicator == TRACE_NONE)
        return false;
    const struct trace_communicator *known = &trace->communicators[communicator];
    return record->peer < (known->remote_size > 0 ? known->remote_size : known->size) || may_be_rejected(record);
}

bool operation_rejected(const struct spool_operation *record)
{
    return record->communicator == SPOOL_NO_COMMUNICATOR && may_be_rejected(record);
}

bool record_order(const struct trace *trace, const struct trace_process *process, const uint8_t *record,
                  uint64_t *ticks)
{
    const struct spool_operation *operation = (const void *)record;
    const struct spool_call *call = (const void *)record;
    const struct spool_idle *idle = (const void *)record;
    switch (*record) {
    case SPOOL_OPERATION:
        *ticks = operation->post_ticks + (operation->flags & SPOOL_MATCHED_PROBE ? operation->call_ticks : 0);
        return operation_known(trace, process, operation);
    case SPOOL_CALL:
        *ticks = call->begin_ticks;
        return true;
    case SPOOL_IDLE:
        *ticks = idle->begin_ticks;
        return true;
    default:
        return false;
    }
}

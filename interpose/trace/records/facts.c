/* What a record says of itself, whichever reading asks. */
#include "interpose/trace/records/records.h"

#include "interpose/trace/communicators/communicators.h"

/* True if MPI may have rejected the call after a look at what it named. */
static bool may_be_rejected(const struct spool_operation *record)
{
    return record->complete_ticks == 0 || (record->flags & SPOOL_FAILED);
}

int32_t operation_peer(const struct spool_operation *record)
{
    return may_be_rejected(record) ? -1 : record->peer;
}

bool operation_known(const struct trace *trace, const struct trace_process *process,
                     const struct spool_operation *record)
{
    return process_communicator(trace, process, record->communicator, operation_peer(record)) != TRACE_NONE;
}

bool operation_rejected(const struct spool_operation *record)
{
    return record->communicator == SPOOL_NO_COMMUNICATOR && may_be_rejected(record);
}

uint64_t record_begin_ticks(const uint8_t *record)
{
    switch (*record) {
    case SPOOL_OPERATION:
        return ((const struct spool_operation *)(const void *)record)->post_ticks;
    case SPOOL_CALL:
        return ((const struct spool_call *)(const void *)record)->begin_ticks;
    case SPOOL_IDLE:
        return ((const struct spool_idle *)(const void *)record)->begin_ticks;
    case SPOOL_COLLECTIVE:
        return ((const struct spool_collective *)(const void *)record)->begin_ticks;
    case SPOOL_ACCESS:
        return ((const struct spool_access *)(const void *)record)->begin_ticks;
    default:
        return 0;
    }
}

bool record_order(const struct trace *trace, const struct trace_process *process, const uint8_t *record,
                  uint64_t *ticks)
{
    const struct spool_operation *operation = (const void *)record;
    *ticks = record_begin_ticks(record);
    if (*record != SPOOL_OPERATION)
        return *record == SPOOL_CALL || *record == SPOOL_IDLE;
    *ticks += operation->flags & SPOOL_MATCHED_PROBE ? operation->call_ticks : 0;
    return operation_known(trace, process, operation);
}

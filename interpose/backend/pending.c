/* The ends of requests, see pending.h. */
#include "pending.h"

#include "operation.h"

/* Ends a record whose time of completion is one store. */
static uint32_t end_record(uint64_t *end_ticks, uint16_t *flags, int ok, uint64_t ticks)
{
    if (*end_ticks != 0)
        return 0;
    if (!ok)
        *flags |= SPOOL_FAILED;
    __atomic_store_n(end_ticks, ticks, __ATOMIC_RELEASE);
    return 1;
}

/* MPICH 4.0 fills the status of MPI_Isendrecv with zeros, whatever was received. */
static int is_empty(const MPI_Status *status)
{
    int count = 0;
    return status && status->MPI_SOURCE == 0 && status->MPI_TAG == 0 &&
           PMPI(Get_count)(status, MPI_BYTE, &count) == MPI_SUCCESS && count == 0;
}

/* Both operations of MPI_Isendrecv; the status is that of the receive. */
static uint32_t complete_operations(struct spool_operation *operation, const MPI_Status *status, int ok,
                                    struct moment now)
{
    if (operation->complete_ticks != 0)
        return 0;
    /* Behind a shared handle another thread's operation may be taken for this one, posted since the call returned. */
    if (now.ticks <= operation->post_ticks)
        now.ticks = clock_ticks(recorder.clock_source);
    if (operation->flags & SPOOL_SAME_CALL) {
        operation_complete(operation - 1, NULL, ok, now.ticks, now.processor);
        if (is_empty(status))
            status = NULL;
    }
    operation_complete(operation, status, ok, now.ticks, now.processor);
    return 1;
}

uint32_t pending_complete_any(void *pending, struct recorder_thread *thread, const MPI_Status *status, int ok,
                              struct moment now)
{
    struct spool_collective *collective = pending;
    struct spool_rma *rma = pending;
    struct pending_callback *callback = pending;
    switch (pending_type(pending)) {
    case SPOOL_OPERATION:
        return complete_operations(pending, status, ok, now);
    case SPOOL_COLLECTIVE:
        return end_record(&collective->end_ticks, &collective->flags, ok, now.ticks);
    case SPOOL_RMA:
        return end_record(&rma->end_ticks, &rma->flags, ok, now.ticks);
    case PENDING_CALLBACK:
        callback->complete(callback, thread, ok, now.ticks);
        return 1;
    default:
        return 0;
    }
}

void pending_posted(void *pending, uint64_t ticks)
{
    struct spool_operation *operation = pending;
    struct spool_collective *collective = pending;
    if (pending_type(pending) == SPOOL_OPERATION)
        operation->call_ticks = saturate_ticks(ticks);
    else if (pending_type(pending) == SPOOL_COLLECTIVE)
        collective->call_ticks = saturate_ticks(ticks);
}

void pending_abandon(void *pending, struct recorder_thread *thread, unsigned flag)
{
    struct pending_callback *callback = pending;
    if (pending_type(pending) == PENDING_CALLBACK)
        callback->complete(callback, thread, 0, clock_ticks(recorder.clock_source));
    else
        pending_flag(pending, flag);
}

void pending_flag(void *pending, unsigned flag)
{
    struct spool_operation *operation = pending;
    struct spool_collective *collective = pending;
    struct spool_rma *rma = pending;
    switch (pending_type(pending)) {
    case SPOOL_OPERATION:
        operation->flags = (uint16_t)(operation->flags | flag);
        if (operation->flags & SPOOL_SAME_CALL)
            pending_flag(operation - 1, flag);
        break;
    case SPOOL_COLLECTIVE:
        collective->flags = (uint16_t)(collective->flags | flag);
        break;
    case SPOOL_RMA:
        rma->flags = (uint16_t)(rma->flags | flag);
        break;
    default:
        break;
    }
}

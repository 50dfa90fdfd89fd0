/* A request may end by a report, by a failure, by being freed, or unseen, and each kind of record ends differently: all
 * combinations meet here. See pending.h. */
#include "interpose/backend/table/pending.h"

#include "interpose/backend/table/operation_record.h"

/* Returns the flags of its record; NULL if it has none. */
static uint16_t *flags_of(void *pending)
{
    struct spool_operation *operation = pending;
    struct spool_collective *collective = pending;
    struct spool_access *access = pending;
    switch (pending_type(pending)) {
    case SPOOL_OPERATION:
        return &operation->flags;
    case SPOOL_COLLECTIVE:
        return &collective->flags;
    case SPOOL_ACCESS:
        return &access->flags;
    default:
        return NULL;
    }
}

/* Lets go of what knew its request, which is no longer there. */
static void let_go(void *pending)
{
    uint16_t *flags = flags_of(pending);
    if (flags && (*flags & SPOOL_HELD))
        __atomic_store_n(flags, (uint16_t)(*flags & ~(unsigned)SPOOL_HELD), __ATOMIC_RELEASE);
}

/* Ends a record whose time of completion is one store. */
static uint32_t end_record(uint64_t *end_ticks, uint16_t *flags, int ok, uint64_t ticks)
{
    if (*end_ticks != 0)
        return 0;
    if (!ok)
        __atomic_store_n(flags, (uint16_t)(*flags | SPOOL_FAILED), __ATOMIC_RELAXED);
    __atomic_store_n(end_ticks, ticks, __ATOMIC_RELEASE);
    return 1;
}

/* Recognises the status of MPI_Isendrecv that MPICH 4.0 fills with zeros, whatever was received. */
static int is_empty(const MPI_Status *status)
{
    int count = 0;
    return status && status->MPI_SOURCE == 0 && status->MPI_TAG == 0 &&
           PMPI(Get_count)(status, MPI_BYTE, &count) == MPI_SUCCESS && count == 0;
}

/* Completes both operations of MPI_Isendrecv; the status is that of the receive. */
static uint32_t complete_operations(struct spool_operation *operation, const MPI_Status *status, int error,
                                    struct moment now)
{
    if (operation->complete_ticks != 0)
        return 0;
    /* Behind a shared handle another thread's operation, posted since the call returned, may be taken for this one. */
    if (now.ticks <= operation->post_ticks)
        now.ticks = clock_ticks(recorder.clock_source);
    if (operation->flags & SPOOL_SAME_CALL)
        operation_complete_two(operation - 1, is_empty(status) ? NULL : status, error, now.ticks, now.processor);
    else
        operation_complete(operation, status, error, now.ticks, now.processor);
    return 1;
}

uint32_t pending_complete_any(void *pending, struct recorder_thread *thread, const MPI_Status *status, int error,
                              struct moment now)
{
    int ok = error == MPI_SUCCESS;
    struct spool_collective *collective = pending;
    struct spool_access *access = pending;
    struct pending_callback *callback = pending;
    uint32_t completed = 0;
    switch (pending_type(pending)) {
    case SPOOL_OPERATION:
        completed = complete_operations(pending, status, error, now);
        break;
    case SPOOL_COLLECTIVE:
        completed = end_record(&collective->end_ticks, &collective->flags, ok, now.ticks);
        break;
    case SPOOL_ACCESS:
        completed = end_record(&access->end_ticks, &access->flags, ok, now.ticks);
        break;
    case PENDING_CALLBACK:
        callback->complete(callback, thread, ok, now.ticks);
        return 1;
    default:
        return 0;
    }
    if (completed == 0)
        let_go(pending);
    return completed;
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
    else if (flag)
        pending_flag(pending, flag);
    else
        let_go(pending);
}

void pending_flag(void *pending, unsigned flag)
{
    uint16_t *flags = flags_of(pending);
    if (!flags)
        return;
    if (pending_type(pending) == SPOOL_OPERATION && (*flags & SPOOL_SAME_CALL))
        pending_flag((struct spool_operation *)pending - 1, flag);
    __atomic_store_n(flags, (uint16_t)(*flags | flag), __ATOMIC_RELAXED);
}

uint32_t pending_report(void *pending, struct recorder_thread *thread, const MPI_Status *status, struct moment now)
{
    uint16_t *flags = flags_of(pending);
    if (!flags || (*flags & SPOOL_HELD))
        return 0;
    __atomic_store_n(flags, (uint16_t)(*flags | SPOOL_HELD), __ATOMIC_RELAXED);
    return pending_complete(pending, thread, status, MPI_SUCCESS, now);
}

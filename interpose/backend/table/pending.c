/* A request may end by a report, by a failure, by being freed, or unseen, and each kind of record ends differently: all
 * combinations meet here. See pending.h. */
#include "interpose/backend/table/pending.h"

#include <stdlib.h>

void operation_resolve(struct spool_operation *operation, const MPI_Status *status, int ok)
{
    unsigned flags = operation->flags;
    if (flags & SPOOL_ANY_SOURCE) {
        int known = status && (ok || status->MPI_SOURCE >= 0 || status->MPI_SOURCE == MPI_PROC_NULL);
        operation->peer = known ? recorded_peer(status->MPI_SOURCE) : SPOOL_UNKNOWN;
    }
    /* MPICH 4.0 reports tag 0 for a receive from MPI_PROC_NULL. */
    if ((flags & SPOOL_ANY_TAG) && operation->peer != SPOOL_PROC_NULL && status && (ok || status->MPI_TAG >= 0))
        operation->tag = status->MPI_TAG == MPI_ANY_TAG ? SPOOL_ANY : status->MPI_TAG;
}

/* Returns what a status tells about a request on which MPI_Cancel was called. */
static unsigned cancel_flags(const MPI_Status *status)
{
    int cancelled = 0;
    return PMPI(Test_cancelled)(status, &cancelled) == MPI_SUCCESS && cancelled ? (unsigned)SPOOL_CANCELLED : 0U;
}

/* Returns the flags of a failure. A message that is too long is received and cut off; both MPIs report the same for one
 * whose types do not fit. All other errors are found before MPI looks for a message, but the probe of a matched message
 * has it already. */
static unsigned failure_flags(const struct spool_operation *operation, int error)
{
    int class = error;
    int took = operation->direction == SPOOL_RECEIVE &&
               ((operation->flags & SPOOL_MATCHED_PROBE) ||
                (PMPI(Error_class)(error, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE));
    return SPOOL_FAILED | (took ? (unsigned)SPOOL_TOOK : 0U);
}

void operation_complete(struct spool_operation *operation, const MPI_Status *status, int error, uint64_t ticks,
                        int16_t processor)
{
    unsigned flags = operation->flags;
    if (!(flags & SPOOL_MATCHED_PROBE)) /* the probe knew source and tag */
        operation_resolve(operation, status, error == MPI_SUCCESS);
    if (status && __atomic_load_n(&recorder.cancelled, __ATOMIC_RELAXED))
        flags = (flags & ~(unsigned)SPOOL_CANCELLING) | cancel_flags(status);
    if (error != MPI_SUCCESS)
        flags |= failure_flags(operation, error);
    __atomic_store_n(&operation->flags, (uint16_t)flags, __ATOMIC_RELAXED); /* chunk_supply.c looks at them */
    operation->cpu_complete = processor;
    __atomic_store_n(&operation->complete_ticks, ticks, __ATOMIC_RELEASE);
}

void operation_complete_two(struct spool_operation *send, const MPI_Status *status, int error, uint64_t ticks,
                            int16_t processor)
{
    struct spool_operation *receive = send + 1;
    operation_complete(receive, status, error, ticks, processor);
    /* A call that received something has sent, too. */
    operation_complete(send, NULL, receive->flags & SPOOL_TOOK ? MPI_SUCCESS : error, ticks, processor);
}

void operation_settle(struct spool_operation *operation, MPI_Request request)
{
    int flag = 0;
    MPI_Status status;
    if (operation->complete_ticks != 0 || (operation->flags & SPOOL_SAME_CALL) ||
        !(operation->flags & (SPOOL_ANY_SOURCE | SPOOL_ANY_TAG | SPOOL_CANCELLING)) ||
        PMPI(Request_get_status)(request, &flag, &status) != MPI_SUCCESS || !flag)
        return;
    unsigned cancelled = cancel_flags(&status);
    if (!cancelled && !(operation->flags & SPOOL_MATCHED_PROBE))
        operation_resolve(operation, &status, 1);
    unsigned flags = (operation->flags & ~(unsigned)SPOOL_CANCELLING) | cancelled;
    __atomic_store_n(&operation->flags, (uint16_t)flags, __ATOMIC_RELAXED);
}

/* Returns the flags of its record; NULL if it has none. */
static uint16_t *flags_of(void *pending)
{
    uint16_t *flags = NULL;
    return spool_record_end(pending, &flags) ? flags : NULL;
}

/* Clears SPOOL_HELD of a record whose request is gone. */
static void let_go(void *pending)
{
    uint16_t *flags = flags_of(pending);
    if (flags && (*flags & SPOOL_HELD))
        __atomic_store_n(flags, (uint16_t)(*flags & ~(unsigned)SPOOL_HELD), __ATOMIC_RELEASE);
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
        now.ticks = now_ticks();
    if (operation->flags & SPOOL_SAME_CALL)
        operation_complete_two(operation - 1, is_empty(status) ? NULL : status, error, now.ticks, now.processor);
    else
        operation_complete(operation, status, error, now.ticks, now.processor);
    return 1;
}

uint32_t pending_complete_any(void *pending, struct recorder_thread *thread, const MPI_Status *status, int error,
                              struct moment now)
{
    struct pending_callback *callback = pending;
    uint16_t *flags;
    uint32_t completed = 0;
    if (pending_type(pending) == PENDING_CALLBACK) {
        callback->complete(callback, thread, error == MPI_SUCCESS, now.ticks);
        return 1;
    }
    uint64_t *end_ticks = spool_record_end(pending, &flags);
    if (!end_ticks)
        return 0;
    if (pending_type(pending) == SPOOL_OPERATION) {
        completed = complete_operations(pending, status, error, now);
    } else if (*end_ticks == 0) {
        if (error != MPI_SUCCESS)
            __atomic_store_n(flags, (uint16_t)(*flags | SPOOL_FAILED), __ATOMIC_RELAXED);
        __atomic_store_n(end_ticks, now.ticks, __ATOMIC_RELEASE);
        completed = 1;
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
        callback->complete(callback, thread, 0, now_ticks());
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

void persistent_free(struct persistent *persistent, struct recorder_thread *thread)
{
    if (persistent->active)
        pending_abandon(persistent->active, thread, SPOOL_FREED);
    free(persistent);
}

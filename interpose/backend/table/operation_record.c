/* Completes a record, and asks MPI what only failures, wildcards and shared handles need. See operation_record.h. */
#include "interpose/backend/table/operation_record.h"

void operation_resolve(struct spool_operation *operation, const MPI_Status *status, int ok)
{
    unsigned flags = operation->flags;
    if (flags & SPOOL_ANY_SOURCE) {
        int known = status && (ok || status->MPI_SOURCE >= 0 || status->MPI_SOURCE == MPI_PROC_NULL);
        operation->peer = known ? recorded_peer(status->MPI_SOURCE) : SPOOL_UNKNOWN;
    }
    /* MPICH 4.0 reports tag 0 for a receive from nobody. */
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
    __atomic_store_n(&operation->flags, (uint16_t)flags, __ATOMIC_RELAXED); /* left_chunks.c looks at them */
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

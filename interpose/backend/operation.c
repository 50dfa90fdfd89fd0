/* The completion of a record, and what only failures and shared handles need. See operation.h. */
#include "operation.h"

void operation_resolve(struct spool_operation *operation, const MPI_Status *status, int ok)
{
    unsigned flags = operation->flags;
    if (flags & SPOOL_ANY_SOURCE) {
        int known = status && (ok || status->MPI_SOURCE >= 0 || status->MPI_SOURCE == MPI_PROC_NULL);
        operation->peer = known ? recorded_peer(status->MPI_SOURCE) : SPOOL_UNKNOWN;
    }
    /* MPICH 4.0 reports tag 0 of a receive from nobody. */
    if ((flags & SPOOL_ANY_TAG) && operation->peer != SPOOL_PROC_NULL && status && (ok || status->MPI_TAG >= 0))
        operation->tag = status->MPI_TAG == MPI_ANY_TAG ? SPOOL_ANY : status->MPI_TAG;
}

void operation_complete(struct spool_operation *operation, const MPI_Status *status, int ok, uint64_t ticks,
                        int16_t processor)
{
    unsigned flags = operation->flags;
    if (!(flags & SPOOL_MATCHED_PROBE)) /* the probe knew them */
        operation_resolve(operation, status, ok);
    if (status && __atomic_load_n(&recorder.cancelled, __ATOMIC_RELAXED)) {
        int cancelled = 0;
        if (PMPI(Test_cancelled)(status, &cancelled) == MPI_SUCCESS && cancelled)
            flags |= SPOOL_CANCELLED;
    }
    if (!ok)
        flags |= SPOOL_FAILED;
    __atomic_store_n(&operation->flags, (uint16_t)flags, __ATOMIC_RELAXED); /* left_chunks.c looks at them */
    operation->cpu_complete = processor;
    __atomic_store_n(&operation->complete_ticks, ticks, __ATOMIC_RELEASE);
}

/* Records communicators that are made in the background: the request stands for the creation until a call reports it.
 * See idup.h. */
#include "interpose/backend/family/idup.h"

#include <errno.h>
#include <stdlib.h>

#include "interpose/backend/family/operation.h"
#include "interpose/backend/table/pending.h"

/* Holds what the request stands for. */
struct idup {
    struct pending_callback pending; /* must be first */
    struct communicator_origin origin;
    MPI_Comm made;
    struct spool_collective *record; /* record of the call; NULL: lost */
};

/* Ends the creation: a call reported the request, or (ok 0) none ever will. */
static void complete(struct pending_callback *self, struct recorder_thread *thread, int ok, uint64_t ticks)
{
    struct idup *idup = (struct idup *)(void *)self;
    if (idup->record && !ok)
        idup->record->flags |= SPOOL_FAILED;
    if (idup->record)
        __atomic_store_n(&idup->record->end_ticks, ticks, __ATOMIC_RELEASE);
    if (ok)
        communicator_created(thread, idup->made, &idup->origin);
    free(idup);
}

void comm_idup_begin(struct creation_call *creation, enum mpistair_function function, uint64_t site, MPI_Comm parent)
{
    comm_create_begin(creation, function, site, parent);
    creation->origin.parent_comm = MPI_COMM_NULL; /* it may be freed before the request is complete */
    if (creation->collective.record)
        creation->collective.record->flags |= SPOOL_NONBLOCKING;
}

/* Returns what the request of a call that succeeded stands for; NULL without memory. */
static struct idup *idup_new(const struct creation_call *creation, MPI_Comm made)
{
    int saved_errno = errno;
    struct idup *idup = malloc(sizeof *idup);
    errno = saved_errno;
    if (!idup) {
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
        return NULL;
    }
    *idup = (struct idup){.pending = {PENDING_CALLBACK, complete},
                          .origin = creation->origin,
                          .made = made,
                          .record = creation->collective.record};
    return idup;
}

void comm_idup_end(struct creation_call *creation, int result, const MPI_Comm *made, const MPI_Request *request)
{
    struct recorded_call *call = &creation->collective.call;
    struct spool_collective *record = creation->collective.record;
    if (!creation->begun || !call_recorded(call))
        return;
    uint64_t now = clock_ticks(recorder.clock_source);
    if (creation->collective.summed)
        collective_end(&creation->collective, result);
    if (record)
        record->call_ticks = saturate_ticks(now - call->begin_ticks);
    struct idup *idup = result == MPI_SUCCESS ? idup_new(creation, *made) : NULL;
    if (idup) {
        request_table_add(call->thread, HANDLE_KEY(*request), idup);
    } else if (result != MPI_SUCCESS && record) {
        record->flags |= SPOOL_FAILED;
        __atomic_store_n(&record->end_ticks, now, __ATOMIC_RELEASE);
    }
}

/* Records communicators that are made, freed and named: later readers must know the members to tell who talked to whom.
 * See creation.h. */
#include "interpose/backend/family/creation.h"

#include <stdlib.h>

#include "interpose/backend/family/operation.h"
#include "interpose/backend/table/pending.h"

/* MPI_COMM_SELF stands for calls that concern this process alone. */
#define SELF_INDEX 1U

/* Begins a creation on comm, or without one (NULL), and publishes the call's record. */
static void begin_creation(struct creation_call *creation, const MPI_Comm *comm, enum communicator_way way)
{
    struct collective_call *collective = &creation->collective;
    creation->begun = 0;
    collective->record = NULL;
    collective->summed = 0;
    uint32_t parent = comm ? communicator_index(collective->call.thread, *comm) : COMMUNICATOR_NONE;
    if (comm && parent == COMMUNICATOR_NONE)
        return;
    creation->begun = 1;
    creation->origin = (struct communicator_origin){.function = collective->call.function,
                                                    .way = way,
                                                    .begin_ticks = collective->call.begin_ticks,
                                                    .parent_comm = comm ? *comm : MPI_COMM_NULL};
    communicator_set_parent(&creation->origin, parent);
    collective_reserve(collective, comm ? parent : SELF_INDEX);
    if (collective->record)
        spool_record_publish(collective->record, SPOOL_COLLECTIVE);
}

void comm_create_begin(struct creation_call *creation, MPI_Comm parent)
{
    begin_creation(creation, &parent, COMMUNICATOR_COLLECTIVE);
    if (creation->begun)
        creation->origin.creation = communicator_count_creation(creation->origin.parent);
}

void comm_create_end(struct creation_call *creation, int result, const MPI_Comm *made)
{
    collective_end(&creation->collective, result);
    if (result == MPI_SUCCESS && creation->begun)
        communicator_created(*made, &creation->origin);
}

void comm_create_tagged_begin(struct creation_call *creation, MPI_Comm parent, int tag)
{
    begin_creation(creation, &parent, COMMUNICATOR_TAGGED);
    creation->origin.creation = (uint32_t)tag;
}

void comm_create_session_begin(struct creation_call *creation, const char *tag)
{
    uint32_t hash = UINT32_C(0x811c9dc5); /* FNV-1a of 32 bits, as the field in the spool */
    for (const char *c = tag ? tag : ""; *c; c++)
        hash = (hash ^ (uint8_t)*c) * UINT32_C(0x01000193);
    begin_creation(creation, NULL, COMMUNICATOR_TAGGED);
    creation->origin.creation = hash;
}

void comm_create_session_end(struct creation_call *creation, int result, const MPI_Comm *made)
{
    collective_end(&creation->collective, result);
    if (result != MPI_SUCCESS || !creation->begun)
        return;
    uint32_t index = communicator_created(*made, &creation->origin);
    if (index != COMMUNICATOR_NONE && creation->collective.record)
        __atomic_store_n(&creation->collective.record->communicator, index, __ATOMIC_RELAXED);
}

void comm_connect_begin(struct creation_call *creation, MPI_Comm parent, int root)
{
    begin_creation(creation, &parent, COMMUNICATOR_CONNECTED);
    if (!creation->begun)
        return;
    creation->origin.creation = communicator_count_creation(creation->origin.parent);
    if (creation->collective.record)
        creation->collective.record->root = root;
}

void comm_join_begin(struct creation_call *creation)
{
    begin_creation(creation, NULL, COMMUNICATOR_CONNECTED);
    if (!creation->begun)
        return;
    communicator_set_parent(&creation->origin, SELF_INDEX);
    creation->origin.creation = communicator_count_creation(SELF_INDEX);
}

void comm_free_begin(struct freeing_call *freeing, const MPI_Comm *comm)
{
    freeing->comm = *comm;
    freeing->index = communicator_forget(*comm);
}

void comm_free_end(struct freeing_call *freeing, int result)
{
    if (freeing->index == COMMUNICATOR_NONE)
        return;
    if (result == MPI_SUCCESS)
        communicator_freed(freeing->index);
    else
        communicator_restore(freeing->comm, freeing->index);
}

void comm_name_begin(struct naming_call *naming, MPI_Comm comm)
{
    naming->index = communicator_index(naming->call.thread, comm);
}

void comm_name_end(struct naming_call *naming, int result, const char *name)
{
    if (result == MPI_SUCCESS && naming->index != COMMUNICATOR_NONE)
        communicator_named(naming->index, name);
}

/* The communicator of MPI_Comm_idup exists only when its request is complete: the request stands for the creation
 * until a call reports it. Its number on the parent is taken at the call, as all members call their creations in one
 * order. Its members are asked for when a call reports the request. Both MPIs store the new handle before the call
 * returns (Open MPI's Fortran layer relies on that: the variable that it hands on is gone afterwards), so it is read
 * there. */

/* What the request stands for. */
struct idup {
    struct pending_callback pending; /* must be first */
    struct communicator_origin origin;
    MPI_Comm made;
    struct spool_collective *record; /* record of the call; NULL: lost */
};

/* Ends the creation: a call reported the request, or (ok 0) none ever will. */
static void complete_idup(struct pending_callback *self, struct recorder_thread *thread, int ok, uint64_t ticks)
{
    struct idup *idup = (struct idup *)(void *)self;
    (void)thread;
    if (idup->record && !ok)
        idup->record->flags |= SPOOL_FAILED;
    if (idup->record)
        __atomic_store_n(&idup->record->end_ticks, ticks, __ATOMIC_RELEASE);
    if (ok)
        communicator_created(idup->made, &idup->origin);
    free(idup);
}

void comm_idup_begin(struct creation_call *creation, MPI_Comm parent)
{
    comm_create_begin(creation, parent);
    creation->origin.parent_comm = MPI_COMM_NULL; /* it may be freed before the request is complete */
    if (creation->collective.record)
        creation->collective.record->flags |= SPOOL_NONBLOCKING;
}

/* Returns what the request of a call that succeeded stands for; NULL without memory. */
static struct idup *idup_new(const struct creation_call *creation, MPI_Comm made)
{
    struct idup *idup = recorder_allocate(sizeof *idup);
    if (!idup) {
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
        return NULL;
    }
    *idup = (struct idup){.pending = {PENDING_CALLBACK, complete_idup},
                          .origin = creation->origin,
                          .made = made,
                          .record = creation->collective.record};
    return idup;
}

void comm_idup_end(struct creation_call *creation, int result, const MPI_Comm *made, const MPI_Request *request)
{
    struct recorded_call *call = &creation->collective.call;
    struct spool_collective *record = creation->collective.record;
    if (!creation->begun)
        return;
    uint64_t now = now_ticks();
    if (creation->collective.summed)
        collective_end(&creation->collective, result);
    if (record)
        record->call_ticks = saturate_ticks(now - call->begin_ticks);
    /* With sums no call looks for what its request stands for: the communicator is known once it is used. */
    struct idup *idup = result == MPI_SUCCESS && !recorder.sums ? idup_new(creation, *made) : NULL;
    if (idup) {
        request_table_add(call->thread, HANDLE_KEY(*request), idup);
    } else if (result != MPI_SUCCESS && record) {
        record->flags |= SPOOL_FAILED;
        __atomic_store_n(&record->end_ticks, now, __ATOMIC_RELEASE);
    }
}

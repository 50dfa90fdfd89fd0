/* Records communicators that are made, freed and named: later readers must know the members to tell who talked to whom.
 * See creation.h. */
#include "interpose/backend/family/creation.h"

/* MPI_COMM_SELF stands for calls that concern this process alone. */
#define SELF_INDEX 1U

/* Begins a creation on comm, or without one (NULL), and publishes the call's record. */
static void begin(struct creation_call *creation, enum mpistair_function function, uint64_t site, const MPI_Comm *comm,
                  enum communicator_way way)
{
    struct collective_call *collective = &creation->collective;
    creation->begun = 0;
    collective->record = NULL;
    collective->summed = 0;
    if (!call_begin(&collective->call, function, site))
        return;
    uint32_t parent = comm ? communicator_index(collective->call.thread, *comm) : COMMUNICATOR_NONE;
    if (comm && parent == COMMUNICATOR_NONE)
        return;
    creation->begun = 1;
    creation->origin = (struct communicator_origin){.function = function,
                                                    .way = way,
                                                    .begin_ticks = collective->call.begin_ticks,
                                                    .parent_comm = comm ? *comm : MPI_COMM_NULL};
    communicator_set_parent(&creation->origin, parent);
    collective_reserve(collective, comm ? parent : SELF_INDEX);
    if (collective->record)
        spool_record_publish(collective->record, SPOOL_COLLECTIVE);
}

void comm_create_begin(struct creation_call *creation, enum mpistair_function function, uint64_t site, MPI_Comm parent)
{
    begin(creation, function, site, &parent, COMMUNICATOR_COLLECTIVE);
    if (creation->begun)
        creation->origin.creation = communicator_count_creation(creation->origin.parent);
}

void comm_create_end(struct creation_call *creation, int result, const MPI_Comm *made)
{
    struct recorded_call *call = &creation->collective.call;
    collective_end(&creation->collective, result);
    if (result == MPI_SUCCESS && creation->begun && call_recorded(call))
        communicator_created(call->thread, *made, &creation->origin);
}

void comm_create_tagged_begin(struct creation_call *creation, enum mpistair_function function, uint64_t site,
                              MPI_Comm parent, int tag)
{
    begin(creation, function, site, &parent, COMMUNICATOR_TAGGED);
    creation->origin.creation = (uint32_t)tag;
}

void comm_create_session_begin(struct creation_call *creation, enum mpistair_function function, uint64_t site,
                               const char *tag)
{
    uint32_t hash = UINT32_C(0x811c9dc5);
    for (const char *c = tag ? tag : ""; *c; c++)
        hash = (hash ^ (uint8_t)*c) * UINT32_C(0x01000193);
    begin(creation, function, site, NULL, COMMUNICATOR_TAGGED);
    creation->origin.creation = hash;
}

void comm_create_session_end(struct creation_call *creation, int result, const MPI_Comm *made)
{
    struct recorded_call *call = &creation->collective.call;
    collective_end(&creation->collective, result);
    if (result != MPI_SUCCESS || !creation->begun || !call_recorded(call))
        return;
    uint32_t index = communicator_created(call->thread, *made, &creation->origin);
    if (index != COMMUNICATOR_NONE && creation->collective.record)
        __atomic_store_n(&creation->collective.record->communicator, index, __ATOMIC_RELAXED);
}

void comm_connect_begin(struct creation_call *creation, enum mpistair_function function, uint64_t site, MPI_Comm parent,
                        int root)
{
    begin(creation, function, site, &parent, COMMUNICATOR_CONNECTED);
    if (!creation->begun)
        return;
    creation->origin.creation = communicator_count_creation(creation->origin.parent);
    if (creation->collective.record)
        creation->collective.record->root = root;
}

void comm_join_begin(struct creation_call *creation, enum mpistair_function function, uint64_t site)
{
    begin(creation, function, site, NULL, COMMUNICATOR_CONNECTED);
    if (!creation->begun)
        return;
    communicator_set_parent(&creation->origin, SELF_INDEX);
    creation->origin.creation = communicator_count_creation(SELF_INDEX);
}

void comm_free_begin(struct freeing_call *freeing, enum mpistair_function function, uint64_t site, const MPI_Comm *comm)
{
    freeing->index = COMMUNICATOR_NONE;
    if (!call_begin(&freeing->call, function, site))
        return;
    freeing->comm = *comm;
    freeing->index = communicator_forget(*comm);
}

void comm_free_end(struct freeing_call *freeing, int result)
{
    if (freeing->index == COMMUNICATOR_NONE || !call_recorded(&freeing->call))
        return;
    if (result == MPI_SUCCESS)
        communicator_freed(freeing->index);
    else
        communicator_restore(freeing->comm, freeing->index);
}

void comm_name_begin(struct naming_call *naming, enum mpistair_function function, uint64_t site, MPI_Comm comm)
{
    naming->index = COMMUNICATOR_NONE;
    if (call_begin(&naming->call, function, site))
        naming->index = communicator_index(naming->call.thread, comm);
}

void comm_name_end(struct naming_call *naming, int result, const char *name)
{
    if (result == MPI_SUCCESS && naming->index != COMMUNICATOR_NONE && call_recorded(&naming->call))
        communicator_named(naming->call.thread, naming->index, name);
}

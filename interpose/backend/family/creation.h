/* Families comm_create, comm_create_tagged, comm_create_session, comm_connect, comm_join, comm_free and comm_name
 * record what makes, frees and names communicators. Each creation leaves a timed call (a SPOOL_COLLECTIVE on the
 * communicator that it is made from) and a SPOOL_COMMUNICATOR that describes its result. */
#ifndef MPISTAIR_BACKEND_CREATION_H
#define MPISTAIR_BACKEND_CREATION_H

#include "interpose/backend/family/collective.h"
#include "interpose/backend/table/communicator.h"

struct creation_call {
    struct collective_call collective;
    struct communicator_origin origin;
    int begun;
};

/* These calls are collective over the parent, which may be an intercommunicator; the creation's number is taken before
 * the call. */
void comm_create_begin(struct creation_call *creation, MPI_Comm parent);
void comm_create_end(struct creation_call *creation, int result, const MPI_Comm *made);

/* Those who will be members call MPI_Comm_create_group and MPI_Intercomm_create. */
void comm_create_tagged_begin(struct creation_call *creation, MPI_Comm parent, int tag);
/* MPI_Comm_create_from_group and MPI_Intercomm_create_from_groups have no parent. */
void comm_create_session_begin(struct creation_call *creation, const char *tag);
void comm_create_session_end(struct creation_call *creation, int result, const MPI_Comm *made);

/* MPI_Comm_spawn, _spawn_multiple, _accept and _connect are collective over comm. */
void comm_connect_begin(struct creation_call *creation, MPI_Comm parent, int root);
/* MPI_Comm_join concerns this process alone. */
void comm_join_begin(struct creation_call *creation);

struct freeing_call {
    struct recorded_call call;
    MPI_Comm comm;
    uint32_t index;
};

/* The handle is forgotten before the call, since another thread may be given it at once. */
void comm_free_begin(struct freeing_call *freeing, const MPI_Comm *comm);
void comm_free_end(struct freeing_call *freeing, int result);

struct naming_call {
    struct recorded_call call;
    uint32_t index; /* looked up before the call, after which another thread may free the handle */
};

void comm_name_begin(struct naming_call *naming, MPI_Comm comm);
void comm_name_end(struct naming_call *naming, int result, const char *name);

/* MPI_Comm_idup, whose communicator exists only when its request is complete. */
void comm_idup_begin(struct creation_call *creation, MPI_Comm parent);
void comm_idup_end(struct creation_call *creation, int result, const MPI_Comm *made, const MPI_Request *request);

#endif

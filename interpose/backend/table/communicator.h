/* Keeps the communicators that this process knows, each under an index that its records carry.
 *
 * A communicator is recognised in other processes without communication (enum spool_identity). Every rank numbers the
 * collective creations on each parent, those that gave it MPI_COMM_NULL included, and records parent, number, world
 * rank of the new rank 0, and size. If only some of the parent's members make it, or it has no parent, a hash of its
 * members and its tag identify it. A communicator whose creation was not recorded is registered at its first operation
 * and identified by its members. Only local group calls are used. */
#ifndef MPISTAIR_BACKEND_COMMUNICATOR_H
#define MPISTAIR_BACKEND_COMMUNICATOR_H

#include <mpi.h>

#include "interpose/backend/recorder/state.h"

#define COMMUNICATOR_NONE UINT32_MAX

/* Sets the group whose ranks are the world's: MPI_COMM_WORLD's, or that of a session. It becomes ours, and the one
 * before is freed. MPI_GROUP_NULL is set at the end. */
void communicator_set_world(MPI_Group world);

/* Registers MPI_COMM_WORLD as 0, MPI_COMM_SELF as 1, and the communicator to the processes that spawned this world if
 * there are any. Returns 0, or -1 (no memory, MPI error). */
int communicator_init(struct recorder_thread *thread, int locked);

/* Does the same for a process that began with a session: world is the group whose ranks are the process's (ours from
 * now on where this succeeds). 0 and 1 are MPI_COMM_WORLD and MPI_COMM_SELF by their handles, should MPI_Init follow.
 * Returns 0, or -1 (no memory, MPI error). */
int communicator_init_session(struct recorder_thread *thread, MPI_Group world, int locked);

/* Gives the session's group back when MPI_Init followed: MPI_COMM_WORLD's exists now. Returns 0 or -1. */
int communicator_init_world(struct recorder_thread *thread);

/* The slow path of communicator_index: looks the handle up, and registers a communicator that is new here. */
uint32_t communicator_look_up(struct recorder_thread *thread, MPI_Comm comm);

/* Returns the index of comm for a record; COMMUNICATOR_NONE where MPI does not know it either. */
static inline uint32_t communicator_index(struct recorder_thread *thread, MPI_Comm comm)
{
    if (thread->communicator_key == HANDLE_KEY(comm) &&
        thread->communicator_epoch == __atomic_load_n(&recorder.communicator_epoch, __ATOMIC_ACQUIRE))
        return thread->communicator_index;
    return communicator_look_up(thread, comm);
}

/* Returns this process's rank in it. */
int communicator_rank(uint32_t index);

/* Returns the number of the creation that now begins on the parent, and counts it; for calls that are collective over
 * the parent. */
uint32_t communicator_count_creation(uint32_t parent);

enum communicator_way {
    COMMUNICATOR_COLLECTIVE = 0, /* all members of the parent call: dup, split, merge ... */
    COMMUNICATOR_TAGGED,         /* its future members call: create_group, Intercomm_create, from a session's groups */
    COMMUNICATOR_CONNECTED,      /* perhaps with processes of another world: spawn, accept, connect, join */
};

/* Where a communicator comes from. */
struct communicator_origin {
    enum mpistair_function function;
    enum communicator_way way;
    uint32_t parent;   /* index, or COMMUNICATOR_NONE */
    uint32_t creation; /* number of the creation on the parent; COMMUNICATOR_TAGGED: the tag, or a hash of its text */
    uint64_t begin_ticks; /* entry of the call */
    uint8_t parent_is_inter,
        parent_foreign;   /* as it was at the call: the parent may be freed before the result is there */
    MPI_Comm parent_comm; /* MPI_COMM_NULL: none, or it may have been freed by now */
};

/* Sets the parent and what must be known of it. */
void communicator_set_parent(struct communicator_origin *origin, uint32_t parent);

/* Registers the result of a creation that succeeded. Returns its index; COMMUNICATOR_NONE if made is MPI_COMM_NULL, or
 * without memory. */
uint32_t communicator_created(MPI_Comm made, const struct communicator_origin *origin);

/* Records the communicator's name, for MPI_Comm_set_name. */
void communicator_named(uint32_t index, const char *name);

/* Forgets the handle before it is freed; communicator_restore takes that back where freeing failed, communicator_freed
 * gives the room of its facts to later ones where it did not. */
uint32_t communicator_forget(MPI_Comm comm);
void communicator_restore(MPI_Comm comm, uint32_t index);
void communicator_freed(uint32_t index);

#endif

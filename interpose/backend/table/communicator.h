/* The communicators that this process knows, each under an index that its records carry.
 *
 * A communicator is recognised in other processes without communication (enum spool_identity). Every rank numbers the
 * collective creations on each parent, those that gave it MPI_COMM_NULL included, and records parent, number, world
 * rank of the new rank 0, and size. What only some of the parent's members make, and what is made without a parent,
 * is told apart by a hash of its members and by its tag. One that nobody saw being made is met in its first
 * operation and identified by its members. Only local group calls are used.
 */
#ifndef MPISTAIR_BACKEND_COMMUNICATOR_H
#define MPISTAIR_BACKEND_COMMUNICATOR_H

#include "interpose/backend/recorder/recorder.h"

#define COMMUNICATOR_NONE UINT32_MAX

/* Registers MPI_COMM_WORLD as 0, MPI_COMM_SELF as 1, and the communicator to the processes that spawned this world
 * where there are such. Returns 0, or -1 (no memory, MPI error). */
int communicator_init(int locked);

/* The same for a process that began with a session: world is the group whose ranks are the process's (ours from now on
 * where this succeeds). 0 and 1 are MPI_COMM_WORLD and MPI_COMM_SELF by their handles, should MPI_Init follow. Returns
 * 0, or -1 (no memory, MPI error). */
int communicator_init_session(MPI_Group world, int locked);

/* MPI_Init followed: the session's group is given back, MPI_COMM_WORLD's is there now. Returns 0 or -1. */
int communicator_init_world(void);

/* The slow path of communicator_index: looks in the table, meets the unknown. */
uint32_t communicator_look_up(struct recorder_thread *thread, MPI_Comm comm);

/* Index of comm for a record; COMMUNICATOR_NONE where MPI does not know it either. */
static inline uint32_t communicator_index(struct recorder_thread *thread, MPI_Comm comm)
{
    if (thread->communicator_key == HANDLE_KEY(comm) &&
        thread->communicator_epoch == __atomic_load_n(&recorder.communicator_epoch, __ATOMIC_ACQUIRE))
        return thread->communicator_index;
    return communicator_look_up(thread, comm);
}

/* Own rank in it. */
int communicator_rank(uint32_t index);

/* Number of the collective that now begins on the communicator, counted up: the same on all of its ranks. */
uint64_t communicator_count_collective(uint32_t index);

/* Number of the creation that now begins on the parent, counted up. For calls that are collective over the parent. */
uint32_t communicator_count_creation(uint32_t parent);

enum communicator_way {
    COMMUNICATOR_COLLECTIVE = 0, /* all members of the parent call: dup, split, merge ... */
    COMMUNICATOR_TAGGED,    /* those call that belong to it: create_group, Intercomm_create, of a session's groups */
    COMMUNICATOR_CONNECTED, /* with processes of another world, perhaps: spawn, accept, connect, join */
};

/* Where a communicator comes from. */
struct communicator_origin {
    enum mpistair_function function;
    enum communicator_way way;
    uint32_t parent;   /* index, or COMMUNICATOR_NONE */
    uint32_t creation; /* number of the creation on the parent; COMMUNICATOR_TAGGED: the tag, or a hash of its text */
    uint64_t begin_ticks; /* entry of the call */
    MPI_Comm parent_comm; /* MPI_COMM_NULL: none, or it may have been freed by now */
};

/* Registers the result of a creation that succeeded. Returns its index; COMMUNICATOR_NONE: made is MPI_COMM_NULL, or no
 * memory. */
uint32_t communicator_created(struct recorder_thread *thread, MPI_Comm made, const struct communicator_origin *origin);

/* MPI_Comm_set_name: a record of the communicator's name. */
void communicator_named(struct recorder_thread *thread, uint32_t index, const char *name);

/* Forgets the handle before it is freed; communicator_restore takes that back where freeing failed. */
uint32_t communicator_forget(MPI_Comm comm);
void communicator_restore(MPI_Comm comm, uint32_t index);

#endif

/* The communicators that this process knows, each under an index that its records carry.
 *
 * A communicator is identified across processes without communication: every rank numbers the collective creations
 * on each parent (those that gave it MPI_COMM_NULL included) and records parent, number, world rank of the new
 * rank 0, and size. One that was made by a function that is not recorded is met in its first operation and
 * identified by its members. Only local group calls are used.
 */
#ifndef MPISTAIR_BACKEND_COMMUNICATOR_H
#define MPISTAIR_BACKEND_COMMUNICATOR_H

#include "recorder.h"

#define COMMUNICATOR_NONE UINT32_MAX

/* Registers MPI_COMM_WORLD as 0 and MPI_COMM_SELF as 1. Returns 0, or -1 (no memory, MPI error). */
int communicator_init(int locked);

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

/* Number of the creation that now begins on the parent, counted up. */
uint32_t communicator_count_creation(uint32_t parent);

/* Registers the result of that creation (unless it is MPI_COMM_NULL). */
void communicator_created(struct recorder_thread *thread, MPI_Comm made, enum mpistair_function function,
                          uint32_t parent, uint32_t creation);

/* Forgets the handle before it is freed; communicator_restore takes that back where freeing failed. */
uint32_t communicator_forget(MPI_Comm comm);
void communicator_restore(MPI_Comm comm, uint32_t index);

#endif

/* Finds who belongs to a communicator, by local calls of MPI alone: ranks in MPI_COMM_WORLD, and a hash of them that is
 * the same in all members of the same world.
 *
 * A process of another MPI_COMM_WORLD has no rank in ours; it counts as MPI_UNDEFINED, and makes the communicator
 * foreign. */
#ifndef MPISTAIR_BACKEND_MEMBERS_H
#define MPISTAIR_BACKEND_MEMBERS_H

#include "interpose/backend/recorder/state.h"

struct members {
    int size; /* size of the local group */
    int rank; /* own rank in it */
    int remote_size;
    int leader; /* world rank of the local group's rank 0, -1: in another world */
    int is_inter;
    /* The next two describe all members, where they were asked for. */
    int foreign; /* some are of another world */
    uint64_t hash;
};

/* Sets the group whose ranks are the world's: MPI_COMM_WORLD's, or that of a session. It becomes ours, and the one
 * before is freed. MPI_GROUP_NULL is set at the end. */
void members_set_world(MPI_Group world);

/* Describes comm. all asks for the last two fields too, at a cost that grows with the number of members. Returns 0, or
 * -1 where MPI refuses or there is no memory. */
int members_describe(MPI_Comm comm, int all, struct members *members);

/* Returns FNV-1a over the ranks in parent of all members of comm, both intracommunicators; 0 if it is not known. It is
 * the same in processes of different worlds. */
uint64_t members_hash_in(MPI_Comm comm, MPI_Comm parent);

#endif

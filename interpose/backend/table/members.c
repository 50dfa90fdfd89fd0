/* Translates groups into world ranks, by local calls of MPI: nothing may be communicated where the application makes a
 * communicator. See members.h. */
#include "interpose/backend/table/members.h"

#include <errno.h>
#include <stdlib.h>

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static MPI_Group world_group;
static int has_world;

void members_set_world(MPI_Group world)
{
    if (has_world)
        PMPI(Group_free)(&world_group);
    world_group = world;
    has_world = world != MPI_GROUP_NULL;
}

static uint64_t hash_ranks(uint64_t hash, const int *ranks, int n)
{
    const uint8_t *bytes = (const uint8_t *)ranks;
    for (size_t i = 0; i < (size_t)n * sizeof *ranks; i++)
        hash = (hash ^ bytes[i]) * FNV_PRIME;
    return hash;
}

/* Translates the ranks [0, n) of group into ranks of another group; room is for n more integers. */
static int translate(MPI_Group group, int n, MPI_Group other, int *ranks, int *room)
{
    for (int i = 0; i < n; i++)
        room[i] = i;
    return PMPI(Group_translate_ranks)(group, n, room, other, ranks) == MPI_SUCCESS ? 0 : -1;
}

/* Hashes both groups and finds whether they are foreign. The group with the smaller first rank goes first, so that both
 * sides agree. */
static int ask_all(MPI_Group local, MPI_Group remote, struct members *members)
{
    int n_local = members->size, n_remote = members->remote_size;
    size_t n = (size_t)n_local + (size_t)n_remote;
    int *ranks = malloc(2 * n * sizeof *ranks);
    if (!ranks || translate(local, n_local, world_group, ranks, ranks + n) != 0 ||
        (n_remote > 0 && translate(remote, n_remote, world_group, ranks + n_local, ranks + n) != 0)) {
        free(ranks);
        return -1;
    }
    members->foreign = 0;
    for (size_t i = 0; i < n; i++)
        members->foreign |= ranks[i] == MPI_UNDEFINED;
    int swapped = n_remote > 0 && ranks[n_local] < ranks[0];
    members->hash = swapped ? hash_ranks(hash_ranks(FNV_BASIS, ranks + n_local, n_remote), ranks, n_local)
                            : hash_ranks(FNV_BASIS, ranks, n_local + n_remote);
    free(ranks);
    return 0;
}

static int ask_leader(MPI_Group local, struct members *members)
{
    int first = 0;
    if (PMPI(Group_translate_ranks)(local, 1, &first, world_group, &members->leader) != MPI_SUCCESS)
        return -1;
    if (members->leader == MPI_UNDEFINED)
        members->leader = -1;
    return 0;
}

int members_describe(MPI_Comm comm, int all, struct members *members)
{
    int saved_errno = errno;
    MPI_Group local, remote = MPI_GROUP_NULL;
    *members = (struct members){0};
    if (PMPI(Comm_size)(comm, &members->size) != MPI_SUCCESS || PMPI(Comm_rank)(comm, &members->rank) != MPI_SUCCESS ||
        PMPI(Comm_test_inter)(comm, &members->is_inter) != MPI_SUCCESS || PMPI(Comm_group)(comm, &local) != MPI_SUCCESS)
        return -1;
    if (members->is_inter && (PMPI(Comm_remote_size)(comm, &members->remote_size) != MPI_SUCCESS ||
                              PMPI(Comm_remote_group)(comm, &remote) != MPI_SUCCESS)) {
        PMPI(Group_free)(&local);
        return -1;
    }
    int failed = ask_leader(local, members) != 0 || (all && ask_all(local, remote, members) != 0);
    PMPI(Group_free)(&local);
    if (members->is_inter)
        PMPI(Group_free)(&remote);
    errno = saved_errno;
    return failed ? -1 : 0;
}

uint64_t members_hash_in(MPI_Comm comm, MPI_Comm parent)
{
    int n, saved_errno = errno;
    uint64_t hash = 0;
    MPI_Group members, others;
    if (PMPI(Comm_size)(comm, &n) != MPI_SUCCESS || PMPI(Comm_group)(comm, &members) != MPI_SUCCESS)
        return 0;
    if (PMPI(Comm_group)(parent, &others) == MPI_SUCCESS) {
        int *ranks = malloc(2 * (size_t)n * sizeof *ranks);
        if (ranks && translate(members, n, others, ranks, ranks + n) == 0)
            hash = hash_ranks(FNV_BASIS, ranks, n);
        free(ranks);
        PMPI(Group_free)(&others);
    }
    PMPI(Group_free)(&members);
    errno = saved_errno;
    return hash;
}

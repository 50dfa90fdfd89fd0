/* A communicator of our own would be safe from the application, but not the application from it: making one takes a
 * context id, a handle and, in Open MPI, tags of the nonblocking collectives on MPI_COMM_WORLD. Open MPI's
 * MPI_Dist_graph_create receives from any source with two tags of that range (-50, -51), so whether it hangs depends on
 * how many such collectives came before. The recorder leaves that number as it is.
 *
 * At MPI_Init we are alone on MPI_COMM_WORLD: the application's first message to a process that is still here comes
 * from one that has left, after all that this one sent us, and messages do not overtake. At MPI_Finalize collectives
 * keep apart from what the application left behind; messages do not. */
#include "interpose/backend/process/world_comm.h"

#include "interpose/backend/recorder/recorder.h"

#define TAG_MEET 24601 /* an application is unlikely to use it, and it is below the 32767 that every MPI has */

static MPI_Errhandler users_handler;
static int has_users_handler;

void world_comm_begin(struct run *run)
{
    run->comm = MPI_COMM_WORLD;
}

void world_comm_return_errors(void)
{
    has_users_handler = PMPI(Comm_get_errhandler)(MPI_COMM_WORLD, &users_handler) == MPI_SUCCESS;
    PMPI(Comm_set_errhandler)(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

void world_comm_end(struct run *run)
{
    if (run->comm != MPI_COMM_WORLD)
        PMPI(Comm_free)(&run->comm);
    run->comm = MPI_COMM_NULL;
    if (!has_users_handler)
        return;
    has_users_handler = 0;
    PMPI(Comm_set_errhandler)(MPI_COMM_WORLD, users_handler);
    PMPI(Errhandler_free)(&users_handler);
}

static int hear(const struct run *run, int rank)
{
    return PMPI(Recv)(NULL, 0, MPI_BYTE, rank, TAG_MEET, run->comm, MPI_STATUS_IGNORE) == MPI_SUCCESS ? 0 : -1;
}

static int tell(const struct run *run, int rank)
{
    return PMPI(Send)(NULL, 0, MPI_BYTE, rank, TAG_MEET, run->comm) == MPI_SUCCESS ? 0 : -1;
}

/* Meets up and down a binomial tree: the parent of a rank is that rank without its lowest bit. It uses messages and not
 * a collective, which a process that knows nothing of us might take for its own. */
int world_comm_meet(const struct run *run)
{
    int failed = 0, rank = run->rank, n_children = 0;
    while (n_children < 31 && !(rank >> n_children & 1) && (INT64_C(1) << n_children) < run->size - rank)
        n_children++;
    for (int i = 0; i < n_children && !failed; i++)
        failed = hear(run, rank + (1 << i));
    if (rank > 0 && !failed)
        failed = tell(run, rank & (rank - 1)) || hear(run, rank & (rank - 1));
    for (int i = 0; i < n_children && !failed; i++)
        failed = tell(run, rank + (1 << i));
    return failed ? -1 : 0;
}

int world_comm_separate(struct run *run)
{
    MPI_Comm copy = MPI_COMM_NULL;
    int mine = PMPI(Comm_dup)(MPI_COMM_WORLD, &copy) == MPI_SUCCESS, all = 0;
    if (PMPI(Allreduce)(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) != MPI_SUCCESS || !all)
        return -1; /* if only some have failed, the rest is lost, as MPI ends anyway */
    PMPI(Comm_set_errhandler)(copy, MPI_ERRORS_RETURN);
    run->comm = copy;
    return 0;
}

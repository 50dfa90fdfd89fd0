/* A communicator of our own would be safe from the application, but not the application from it: making one takes a
 * context id, a handle and, in Open MPI, tags of the nonblocking collectives on MPI_COMM_WORLD. Open MPI's
 * MPI_Dist_graph_create receives from any source with two tags of that range (-50, -51), so whether it hangs depends on
 * how many such collectives came before. The recorder leaves that number as it is.
 *
 * At MPI_Init we are alone on MPI_COMM_WORLD: the application's first message to a process that is still here comes
 * from one that has left, after all that this one sent us, and messages do not overtake. At MPI_Finalize collectives
 * keep apart from what the application left behind; messages do not. */
#include "interpose/backend/run/world_comm.h"

#include "interpose/backend/recorder/state.h"

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

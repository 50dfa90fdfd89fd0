/* This library sends by PMPI_X alone: nobody may take it for the call of a tool. */
#include <mpi.h>

__attribute__((visibility("default"))) int hidden_exchange(int peer);

int hidden_exchange(int peer)
{
    int in = 0, out = 1;
    return PMPI_Sendrecv(&out, 1, MPI_INT, peer, 0, &in, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

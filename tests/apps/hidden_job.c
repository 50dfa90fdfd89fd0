/* Two ranks send a message each by MPI_Sendrecv, and one by a library that calls PMPI_Sendrecv (hidden.c). */
#include <mpi.h>

int hidden_exchange(int peer);

int main(int argc, char **argv)
{
    int rank, in = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, 0, &in, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int failed = hidden_exchange(1 - rank) != MPI_SUCCESS || in != 1 - rank;
    MPI_Finalize();
    return failed;
}

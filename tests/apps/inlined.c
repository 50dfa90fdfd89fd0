/* Two ranks exchange messages in a function that the compiler puts into its caller, and that one into main. */
#include <mpi.h>

static inline __attribute__((always_inline)) void inner(int peer)
{
    int value = peer;
    MPI_Sendrecv_replace(&value, 1, MPI_INT, peer, 0, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* inner */
}

static inline __attribute__((always_inline)) void outer(int peer)
{
    inner(peer); /* outer */
}

int main(int argc, char **argv)
{
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++)
        outer(1 - rank);                                                                           /* main */
    MPI_Sendrecv_replace(&value, 1, MPI_INT, rank, 1, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* itself */
    MPI_Finalize();
    return 0;
}

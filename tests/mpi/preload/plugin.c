/* A plugin uses MPI: each rank sends itself a message. */
#include <mpi.h>
#include <stdio.h>

__attribute__((visibility("default"))) int run(void);

int run(void)
{
    int rank, value = 41, got = 0;
    MPI_Request request;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Irecv(&got, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
    MPI_Send(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("rank %d: %d\n", rank, got);
    fflush(stdout);
    MPI_Finalize();
    return 6;
}

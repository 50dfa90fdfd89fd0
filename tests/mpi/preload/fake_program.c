/* A program of the MPI in fake_mpi.c. */
int MPI_Init(int *argc, char ***argv);
int MPI_Comm_rank(int comm, int *rank);
int MPI_Finalize(void);

int main(int argc, char **argv)
{
    int rank = 1;
    return MPI_Init(&argc, &argv) + MPI_Comm_rank(0, &rank) + rank + MPI_Finalize();
}

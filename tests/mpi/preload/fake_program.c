/* Uses the MPI in fake_mpi.c. Exits 0 if all arguments arrive and errno stays: the first call of a function goes
 * through the resolver, which must keep every register that may carry an argument, the second does not. */
#include <errno.h>

int MPI_Init(int *argc, char ***argv);
int MPI_Comm_rank(int comm, int *rank);
int MPI_Pcontrol(int level, ...);
int PMPI_Pcontrol(int level, ...);
int MPI_Finalize(void);

int main(int argc, char **argv)
{
    int rank = 1;
    errno = 77;
    int wrong = 0;
    for (int i = 0; i < 2; i++)
        wrong += MPI_Pcontrol(8, 1, 2, 3, 4, 5, 6, 7, 8, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0) +
                 PMPI_Pcontrol(8, 1, 2, 3, 4, 5, 6, 7, 8, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0);
    wrong += MPI_Init(&argc, &argv) + MPI_Comm_rank(0, &rank) + rank + MPI_Finalize();
    return wrong + (errno != 77);
}

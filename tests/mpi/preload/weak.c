/* A library that works with and without MPI refers to it weakly, as this program, which has none. Under the preload
 * library the references are there: the program asks MPI_Initialized, hears no, and prints the same. With an argument
 * it goes on and calls what it should not: every call must come back with an error. */
#include <stdio.h>

#define WEAK __attribute__((weak))

int WEAK MPI_Initialized(int *flag);
int WEAK MPI_Finalized(int *flag);
int WEAK MPI_Init(int *argc, char ***argv);
int WEAK PMPI_Init(int *argc, char ***argv);
int WEAK MPI_Send(const void *buffer, int count, long type, int to, int tag, long comm);
int WEAK MPI_Finalize(void);
double WEAK MPI_Wtime(void);
long WEAK MPI_Type_f2c(int type);

int main(int argc, char **argv)
{
    int initialized = 0, finalized = 0;
    if (MPI_Initialized != NULL && MPI_Initialized(&initialized) != 0)
        puts("MPI_Initialized failed");
    if (MPI_Finalized != NULL && MPI_Finalized(&finalized) != 0)
        puts("MPI_Finalized failed");
    puts(initialized || finalized ? "MPI" : "no MPI");
    if (argc > 1 && MPI_Init != NULL) {
        int failed = MPI_Init(&argc, &argv) != 0 && PMPI_Init(&argc, &argv) != 0 && MPI_Finalize() != 0;
        failed = failed && MPI_Send(&argc, 1, 0, 0, 0, 0) != 0;
        if (!failed || MPI_Wtime() != 0.0 || MPI_Type_f2c(3) != 0)
            puts("a call of an MPI that is not there succeeded");
    }
    return 5;
}

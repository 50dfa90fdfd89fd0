/* Stands before an MPI that gives no more than MPI_THREAD_SERIALIZED, to see what a program makes of that. */
#include <mpi.h>

__attribute__((visibility("default"))) int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return PMPI_Init_thread(argc, argv, required < MPI_THREAD_SERIALIZED ? required : MPI_THREAD_SERIALIZED, provided);
}

/* Holds wrappers as applications and tools have them, by MPI's profiling interface: linked into a program, or
 * preloaded. */
#include <mpi.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int MPI_Send(const void *data, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    return PMPI_Send(data, count, type, dest, tag, comm);
}

EXPORTED int MPI_Recv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    return PMPI_Recv(data, count, type, source, tag, comm, status);
}

EXPORTED int MPI_Isend(const void *data, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                       MPI_Request *request)
{
    return PMPI_Isend(data, count, type, dest, tag, comm, request);
}

EXPORTED int MPI_Irecv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                       MPI_Request *request)
{
    int result = PMPI_Irecv(data, count, type, source, tag, comm, request);
    return result; /* no compiler makes a jump of the call when more is to do */
}

EXPORTED int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    int flag = 0, result = MPI_SUCCESS; /* by another function of MPI, which is not wrapped */
    while (result == MPI_SUCCESS && !flag)
        result = MPI_Test(request, &flag, status);
    return result;
}

EXPORTED int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses)
{
    return PMPI_Waitall(n, requests, statuses);
}

EXPORTED int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy)
{
    return PMPI_Comm_dup(comm, copy);
}

EXPORTED int MPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file)
{
    return PMPI_File_open(comm, name, mode, info, file);
}

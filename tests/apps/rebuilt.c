/* A program that sends itself 10 messages, at a line that the build says:
 *
 *     rebuilt [FILE]
 *
 * FILE takes the program's own name before MPI_Init: it is replaced while it runs. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int out = 0, in = 0;
    if (argc > 1 && rename(argv[1], argv[0]) != 0)
        return 1;
    MPI_Init(NULL, NULL);
    for (int i = 0; i < 10; i++)
#line FIRST_LINE
        MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}

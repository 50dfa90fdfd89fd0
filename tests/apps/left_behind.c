/* A process that its launcher leaves behind: it makes the file, and only a while after its parent has ended it
 * sends itself messages and ends.
 *
 *     left_behind FILE MESSAGES [FILE]
 *
 * With a second file it ends only when that is there, or after a minute.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    pid_t parent = getppid();
    int out = 1, in = 0;
    MPI_Init(&argc, &argv);
    FILE *file = fopen(argv[1], "w");
    if (file == NULL || fclose(file) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    while (getppid() == parent)
        usleep(1000);
    usleep(300000); /* time for whoever would read at once */
    for (int ms = 0; argc > 3 && access(argv[3], F_OK) != 0 && ms < 60000; ms++)
        usleep(1000);
    for (int n = atoi(argv[2]); n > 0; n--)
        MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}

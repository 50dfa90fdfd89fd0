/* overlap exchanges in a ring with work between post and wait, as codes do that want to hide communication.
 *
 *     overlap [STEPS [BYTES [MICROSECONDS]]]
 *
 * A step is an Irecv, an Isend, work for so long by the clock, and a Waitall; then a Barrier. The work calls no MPI. */
#include "tests/apps/app.h"

#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void work(double seconds)
{
    double end_s = now_s() + seconds;
    while (now_s() < end_s)
        ;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int steps = (int)app_integer("STEPS", argc > 1 ? argv[1] : "20", 1, 1000000);
    int bytes = (int)app_integer("BYTES", argc > 2 ? argv[2] : "1000", 1, 1 << 28);
    double work_s = 1e-6 * app_real("MICROSECONDS", argc > 3 ? argv[3] : "2000", 0);
    int rank = app_rank(), size = app_size();
    char *sent = app_allocate((size_t)bytes, 1), *received = app_allocate((size_t)bytes, 1);
    for (int step = 0; step < steps; step++) {
        MPI_Request requests[2];
        MPI_Irecv(received, bytes, MPI_BYTE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(sent, bytes, MPI_BYTE, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
        work(work_s);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(sent);
    free(received);
    MPI_Finalize();
    return 0;
}

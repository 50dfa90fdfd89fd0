/* abrupt: a job that does not end as it should, with known traffic until then.
 *
 *     abrupt WAY STEPS FILE
 *
 * All ranks do STEPS ring exchanges and write what they sent to FILE; a barrier later they end without MPI_Finalize:
 *     midway  the last rank kills itself with SIGKILL in one step more, its receive and its send posted; no file then
 *     kill    the last rank kills itself with SIGKILL, the others wait until the launcher ends them
 *     exit    exit(0) in all ranks
 *     _exit   _exit(0) in all ranks
 *     abort   MPI_Abort(MPI_COMM_WORLD, 3) by rank 0, the others wait
 * With FILE `-` no file is written; with WAY `finish` the job ends with MPI_Finalize.
 */
#include "app.h"
#include "traffic.h"

#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void end(const char *way)
{
    if (strcmp(way, "exit") == 0)
        exit(0);
    if (strcmp(way, "_exit") == 0)
        _exit(0);
    if (strcmp(way, "kill") == 0) {
        if (app_rank() == app_size() - 1)
            raise(SIGKILL);
        pause();
    }
    if (strcmp(way, "abort") == 0) {
        if (app_rank() == 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
        pause();
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc != 4)
        app_fail("usage: abrupt midway|kill|exit|_exit|abort|finish STEPS FILE");
    int64_t steps = app_integer("steps", argv[2], 0, INT32_MAX);
    int midway = strcmp(argv[1], "midway") == 0;
    int size = app_size();
    int next = (app_rank() + 1) % size;
    int previous = (app_rank() + size - 1) % size;
    char out[256] = {0};
    char in[256];
    struct traffic traffic;
    traffic_init(&traffic);
    for (int64_t step = 0; step < steps + midway; step++) {
        MPI_Request requests[2];
        MPI_Irecv(in, sizeof(in), MPI_CHAR, previous, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, (int)(step % 256), MPI_CHAR, next, 0, MPI_COMM_WORLD, &requests[1]);
        traffic_sent(&traffic, next, (uint64_t)step % 256);
        if (step == steps && app_rank() == size - 1)
            raise(SIGKILL);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    traffic_write(&traffic, strcmp(argv[3], "-") == 0 ? NULL : argv[3]);
    traffic_release(&traffic);
    MPI_Barrier(MPI_COMM_WORLD);
    end(argv[1]);
    MPI_Finalize();
    return 0;
}

/* partitioned sends messages in 4 partitions of 256 KiB from rank 0 to rank 1, which become ready 2 ms after each
 * other. The receiver asks for each partition of the first ASKED ones by MPI_Parrived and looks at it at once; for the
 * others it waits. Bytes that arrived wrong end the job. */
#include "tests/apps/app.h"

#include <mpi.h>
#include <string.h>
#include <time.h>

enum { PARTS = 4, BYTES = 1 << 18, MESSAGES = 5, ASKED = 3, TAG = 3 };

static char value_of(int message, int part)
{
    return (char)(1 + 16 * message + part);
}

static void send(char *parts, int message, MPI_Request *request)
{
    MPI_Start(request);
    for (int part = 0; part < PARTS; part++) {
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        memset(parts + part * BYTES, value_of(message, part), BYTES);
        MPI_Pready(part, *request);
    }
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void check(const char *parts, int message, int part)
{
    for (int i = 0; i < BYTES; i++)
        if (parts[part * BYTES + i] != value_of(message, part))
            app_fail("byte %d of partition %d of message %d is wrong", i, part, message);
}

static void receive(const char *parts, int message, MPI_Request *request)
{
    MPI_Start(request);
    for (int part = 0; part < PARTS && message < ASKED; part++) {
        for (int arrived = 0; !arrived;)
            MPI_Parrived(*request, part, &arrived);
        check(parts, message, part);
    }
    MPI_Wait(request, MPI_STATUS_IGNORE);
    for (int part = 0; part < PARTS; part++)
        check(parts, message, part);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = app_rank();
    char *parts = app_allocate(PARTS, BYTES); /* the process ends with it */
    MPI_Request request;
    if (app_size() != 2)
        app_fail("expected 2 ranks");
    if (rank == 0)
        MPI_Psend_init(parts, PARTS, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(parts, PARTS, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int message = 0; message < MESSAGES; message++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            send(parts, message, &request);
        else
            receive(parts, message, &request);
    }
    MPI_Request_free(&request);
    MPI_Finalize();
    return 0;
}

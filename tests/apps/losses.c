/* losses is a job of 4 ranks whose recording cannot be complete; each loss is on purpose.
 *
 *     losses STEPS
 *
 * Rank 0 sends to rank 1 with recording off, probes in vain, cancels a receive and opens a file; rank 1 frees the
 * request of a receive that nothing is sent to. Then all do STEPS ring exchanges, which are to be more than the spool
 * may hold: so often that every chunk has one, a receive is posted that stays open, so that records cannot be added up
 * to make room. Rank 2 ends by SIGKILL, and the others wait until the launcher ends them. */
#include "tests/apps/app.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    RANKS = 4,
    UNRECORDED = 3,
    VAIN_PROBES = 5,
    EVERY = 500,
    TAG_RING,
    TAG_UNRECORDED,
    TAG_PROBED,
    TAG_NEVER,
    TAG_OPEN
};

static void lose_on_rank_0(void)
{
    int value = 0, flag = 0;
    MPI_Pcontrol(0);
    for (int i = 0; i < UNRECORDED; i++)
        MPI_Send(&value, 1, MPI_INT, 1, TAG_UNRECORDED, MPI_COMM_WORLD);
    MPI_Pcontrol(1);

    for (int i = 0; i < VAIN_PROBES; i++)
        MPI_Iprobe(1, TAG_NEVER, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Probe(1, TAG_PROBED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, 1, TAG_PROBED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, 1, TAG_NEVER, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    char buffer[MPI_BSEND_OVERHEAD];
    void *detached;
    int detached_bytes;
    MPI_Buffer_attach(buffer, (int)sizeof buffer);
    MPI_Buffer_detach(&detached, &detached_bytes);
}

static void lose_on_rank_1(void)
{
    static int never;
    int value = 0;
    for (int i = 0; i < UNRECORDED; i++)
        MPI_Recv(&value, 1, MPI_INT, 0, TAG_UNRECORDED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 0, TAG_PROBED, MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Irecv(&never, 1, MPI_INT, MPI_ANY_SOURCE, TAG_NEVER, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
}

static void leave_open(void)
{
    static int never;
    MPI_Request request;
    MPI_Irecv(&never, 1, MPI_INT, (app_rank() + 1) % RANKS, TAG_OPEN, MPI_COMM_WORLD, &request);
}

static void exchange(void)
{
    static char out[64], in[64];
    MPI_Request requests[2];
    MPI_Irecv(in, sizeof(in), MPI_CHAR, (app_rank() + RANKS - 1) % RANKS, TAG_RING, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, sizeof(out), MPI_CHAR, (app_rank() + 1) % RANKS, TAG_RING, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc != 2 || app_size() != RANKS) {
        fprintf(stderr, "usage: losses STEPS, with 4 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (app_rank() == 0)
        lose_on_rank_0();
    if (app_rank() == 1)
        lose_on_rank_1();
    long steps = strtol(argv[1], NULL, 10);
    for (long i = 0; i < steps; i++) {
        if (i % EVERY == 0)
            leave_open();
        exchange();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (app_rank() == 2)
        raise(SIGKILL);
    for (;;)
        pause();
}

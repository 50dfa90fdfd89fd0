/* long_job does in a second what jobs do that run for hours; each rank prints what it counted and timed itself.
 *
 *     long_job polls    rank 0 keeps rank 1 waiting, which asks until its messages are there
 *     long_job late     rank 0 receives what rank 1 has long sent, then sends what rank 1 has long been waiting for
 *     long_job window   rounds of messages, collectives and one-sided calls between marks 3 to 6, twice
 *     long_job uneven   eight barriers and fences; recording is off for two of rank 1's, for three of rank 0's
 */
#include "tests/apps/app.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PENDING = 512, TAG = 7 };

/* A test that lasts so long waited for its processor. */
static const double PREEMPTED_S = 1e-4;

static void work(double seconds)
{
    double end_s = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end_s)
        ;
}

/* So many requests make a test long against the clock that times it. */
static void poll(void)
{
    static MPI_Request requests[PENDING];
    static int received[PENDING];
    double test_s = 0, steady_s = 0, probe_s = 0;
    long tests = 0, probes = 0;
    for (int i = 0; i < PENDING; i++)
        MPI_Irecv(&received[i], 1, MPI_INT, 0, TAG + i, MPI_COMM_WORLD, &requests[i]);
    for (int done = 0, flag, index; done < PENDING; done += flag) {
        double begin_s = MPI_Wtime();
        MPI_Testany(PENDING, requests, &index, &flag, MPI_STATUS_IGNORE);
        double middle_s = MPI_Wtime();
        test_s += middle_s - begin_s;
        if (middle_s - begin_s < PREEMPTED_S)
            steady_s += middle_s - begin_s;
        tests += !flag;
        if (!flag) {
            MPI_Iprobe(0, TAG - 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            probe_s += MPI_Wtime() - middle_s;
            probes++;
        }
    }
    printf("rank=1 tests=%ld test_s=%.9f steady_s=%.9f probes=%ld probe_s=%.9f\n", tests, test_s, steady_s, probes,
           probe_s);
}

static void polls(int rank)
{
    int value = 0;
    if (rank == 1)
        poll();
    if (rank != 0)
        return;
    work(0.3);
    for (int i = 0; i < PENDING; i++)
        MPI_Send(&value, 1, MPI_INT, 1, TAG + i, MPI_COMM_WORLD);
}

/* Makes room for more than comes. */
static void late(int rank)
{
    enum { ROUNDS = 4, SENT = 200000, ROOM = 4 * SENT };
    static char buffer[ROOM];
    double send_s = 0, receive_s = 0, begin_s;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        begin_s = MPI_Wtime();
        if (rank == 0) {
            work(0.1);
            MPI_Recv(buffer, ROOM, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Ssend(buffer, SENT, MPI_CHAR, 0, TAG, MPI_COMM_WORLD);
            send_s += MPI_Wtime() - begin_s;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        begin_s = MPI_Wtime();
        if (rank == 0) {
            work(0.05);
            MPI_Send(buffer, 8, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
        } else {
            MPI_Recv(buffer, ROOM, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            receive_s += MPI_Wtime() - begin_s;
        }
    }
    if (rank == 1)
        printf("rank=1 send_s=%.9f receive_s=%.9f\n", send_s, receive_s);
}

static void exchange(int rank)
{
    MPI_Request request;
    int value = rank, other;
    for (int i = 0; i < 5; i++) {
        MPI_Isend(&value, 1, MPI_INT, 1 - rank, TAG, MPI_COMM_WORLD, &request);
        MPI_Recv(&other, 1, MPI_INT, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Allreduce(&value, &other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void window(int rank)
{
    for (int turn = 0; turn < 2; turn++)
        for (int mark = 3; mark <= 6; mark++) {
            MPI_Pcontrol(mark);
            exchange(rank);
        }
}

static void uneven(int rank)
{
    int value = rank;
    MPI_Win win;
    MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Pcontrol(0);
    for (int turn = 0; turn < 8; turn++) {
        if (turn == (rank == 1 ? 2 : 3))
            MPI_Pcontrol(1);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_fence(0, win);
    }
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "";
    int rank = app_rank();
    if (app_size() != 2)
        app_fail("two ranks are wanted");
    if (strcmp(what, "polls") == 0)
        polls(rank);
    else if (strcmp(what, "late") == 0)
        late(rank);
    else if (strcmp(what, "window") == 0)
        window(rank);
    else if (strcmp(what, "uneven") == 0)
        uneven(rank);
    else
        app_fail("'%s' is none of: polls, late, window, uneven", what);
    MPI_Finalize();
    return 0;
}

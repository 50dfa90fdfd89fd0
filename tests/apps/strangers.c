/* strangers takes any message from anybody, as soon as MPI_Init returns: one that no rank of the program sent is
 * found. Some ranks may be started without the recorder, which those with it wait for, so it looks for PEEK_S
 * first. Then every rank sends one number to every other rank; a communicator, a reduction and a barrier follow.
 * Rank 0 prints `sum N`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TAG       7
#define PEEK_S    1
#define PAUSE_US  1000
#define MOST      64
#define GIVEN(of) (100 + (of))

static void check(const MPI_Status *status, int rank)
{
    int n = -1;
    MPI_Get_count(status, MPI_INT, &n);
    if (status->MPI_TAG == TAG + status->MPI_SOURCE && n == 1)
        return;
    fprintf(stderr, "strangers: rank %d has a message of rank %d that nobody sent: tag %d\n", rank, status->MPI_SOURCE,
            status->MPI_TAG);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void peek(int rank)
{
    MPI_Status status;
    for (double end_s = MPI_Wtime() + PEEK_S; MPI_Wtime() < end_s;) {
        int is_there = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &status);
        if (!is_there)
            continue;
        check(&status, rank);
        usleep(PAUSE_US); /* every probe that finds the message of a rank that was here earlier is a record */
    }
}

int main(int argc, char **argv)
{
    int rank, size, given[MOST], sum = 0, total = 0;
    MPI_Request requests[MOST];
    MPI_Comm duplicate;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    peek(rank);
    for (int to = 0; to < size; to++) {
        requests[to] = MPI_REQUEST_NULL;
        given[to] = GIVEN(rank);
        if (to != rank)
            MPI_Isend(&given[to], 1, MPI_INT, to, TAG + rank, MPI_COMM_WORLD, &requests[to]);
    }
    for (int i = 1; i < size; i++) {
        MPI_Status status;
        int number = 0;
        MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        check(&status, rank);
        sum += number;
    }
    MPI_Waitall(size, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    MPI_Allreduce(&sum, &total, 1, MPI_INT, MPI_SUM, duplicate);
    MPI_Comm_free(&duplicate);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %d\n", total);
    MPI_Finalize();
    return 0;
}

/* Rank 0 hands out `steps` tasks of 400 bytes to whoever asks; a worker returns 80 bytes with its next question, and is
 * told by an empty task that there are no more.
 *
 * A reader draws no round of all ranks, and none that lasts as long as the job. Question and task follow each other at
 * rank 0, for one worker after the other. Each message has its sender and its receiver and ends with the receive, so
 * each is a round of two ranks. There are steps + workers questions and as many answers: 2 * (steps + workers) rounds.
 * Each worker has three kinds: its question, the task, the end. */
#include "tests/apps/rounds.h"

#include "tests/apps/app.h"

#include <mpi.h>

#define QUESTION 1
#define TASK     2

static void master(int steps, struct traffic *traffic)
{
    char result[80];
    char task[400] = {0};
    int working = app_size() - 1;
    for (int handed_out = 0; working > 0;) {
        MPI_Status status;
        MPI_Recv(result, sizeof(result), MPI_CHAR, MPI_ANY_SOURCE, QUESTION, MPI_COMM_WORLD, &status);
        int bytes = handed_out < steps ? (int)sizeof(task) : 0;
        MPI_Send(task, bytes, MPI_CHAR, status.MPI_SOURCE, TASK, MPI_COMM_WORLD);
        traffic_sent(traffic, status.MPI_SOURCE, (uint64_t)bytes);
        handed_out += bytes > 0;
        working -= bytes == 0;
    }
}

static void worker(struct traffic *traffic)
{
    char result[80] = {0};
    char task[400];
    for (int bytes = 1; bytes > 0;) {
        MPI_Status status;
        MPI_Send(result, sizeof(result), MPI_CHAR, 0, QUESTION, MPI_COMM_WORLD);
        traffic_sent(traffic, 0, sizeof(result));
        MPI_Recv(task, sizeof(task), MPI_CHAR, 0, TASK, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &bytes);
    }
}

void rounds_master_worker(int steps, struct traffic *traffic)
{
    if (app_rank() == 0)
        master(steps, traffic);
    else
        worker(traffic);
}

/* A job with a culprit: its last rank makes the others wait, at one line.
 *
 * usage: culprit reduce|send|receive MS    (the last rank sleeps MS milliseconds ten times: before a collective, before
 *                                           it sends, before it receives)
 *        culprit ring 0                    (nobody sleeps; what is sent keeps a link busy) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMES = 10, DOUBLES = 1 << 15 };

struct job {
    int rank, size;
    unsigned late_us;
};

static void be_late(const struct job *job)
{
    if (job->rank == job->size - 1)
        usleep(job->late_us);
}

static void reduce(const struct job *job)
{
    double mine = job->rank, sum;
    be_late(job);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* late: reduce */
}

/* Sends around a ring. */
static void send(const struct job *job)
{
    double mine = job->rank, other;
    int to = (job->rank + 1) % job->size;
    MPI_Request request;
    MPI_Irecv(&other, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    be_late(job);
    if (job->rank == job->size - 1)
        MPI_Send(&mine, 1, MPI_DOUBLE, to, 1, MPI_COMM_WORLD); /* late: send */
    else
        MPI_Send(&mine, 1, MPI_DOUBLE, to, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Sends from even ranks to those behind them. */
static void receive(const struct job *job)
{
    double mine = job->rank;
    int from = job->rank - 1;
    be_late(job);
    if (job->rank % 2 == 1)
        MPI_Recv(&mine, 1, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* late: receive */
    else if (job->rank + 1 < job->size)
        MPI_Ssend(&mine, 1, MPI_DOUBLE, job->rank + 1, 0, MPI_COMM_WORLD);
}

/* Sends around a ring what keeps a link busy. */
static void ring(const struct job *job)
{
    static double mine[DOUBLES], other[DOUBLES];
    int to = (job->rank + 1) % job->size, from = (job->rank + job->size - 1) % job->size;
    MPI_Request request;
    MPI_Irecv(other, DOUBLES, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, &request);
    MPI_Send(mine, DOUBLES, MPI_DOUBLE, to, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* late: ring */
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*act)(const struct job *job);
    } acts[] = {{"reduce", reduce}, {"send", send}, {"receive", receive}, {"ring", ring}};
    struct job job;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    job.late_us = argc == 3 ? 1000U * (unsigned)atoi(argv[2]) : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++)
        for (int time = 0; argc == 3 && strcmp(argv[1], acts[i].name) == 0 && time < TIMES; time++)
            acts[i].act(&job);
    MPI_Finalize();
    return argc == 3 ? 0 : 2;
}

/* A job with a culprit: its last rank makes the others wait, at one line.
 *
 * usage: culprit reduce|send|receive MS    (the last rank sleeps MS milliseconds 16 times: before a collective, before
 *                                           it sends, before it receives; 0: all ranks sleep alike)
 *        culprit halo MS                   (the same before it sends a halo to both neighbours in a ring)
 *        culprit ring 0                    (nobody sleeps; what is sent keeps a link busy)
 *        culprit site MS                   (ranks take turns to sleep before they send at one line; 0: all sleep;
 *                                           at least 4 ranks)
 *        culprit imbalance MS              (each rank works MS ms of processor time times its rank plus
 *                                           one before a collective; 0: all alike)
 *        culprit small N                   (even ranks send N times 8 bytes at one line; 0: all at once)
 *        culprit placement 1               (ranks 2k and 2k + 1 exchange much; 0: those that are two apart do) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TIMES = 16, DOUBLES = 1 << 15, HALO = 1 << 14, AT_ONCE = 2000, ALIKE_US = 20000 };

struct job {
    int rank, size;
    unsigned amount, late_us;
    int time; /* how often it was done before */
};

static void be_late(const struct job *job)
{
    if (job->late_us == 0 || job->rank == job->size - 1)
        usleep(job->late_us > 0 ? job->late_us : ALIKE_US);
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

/* Exchanges halos with both neighbours in a ring, as codes that divide a domain do in each step. */
static void halo(const struct job *job)
{
    static double to_left[HALO], to_right[HALO], from_left[HALO], from_right[HALO];
    int left = (job->rank + job->size - 1) % job->size, right = (job->rank + 1) % job->size;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Irecv(from_left, HALO, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(from_right, HALO, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[1]);
    be_late(job);
    MPI_Isend(to_right, HALO, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[2]); /* late: halo */
    MPI_Isend(to_left, HALO, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, statuses);
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

/* Lets one rank after the other sleep, then send to the next; two ranks on, another line sends without sleep. */
static void site(const struct job *job)
{
    double number = 0;
    int turn = (job->rank - job->time % job->size + job->size) % job->size, to = (job->rank + 1) % job->size;
    int from = (job->rank + job->size - 1) % job->size;
    MPI_Barrier(MPI_COMM_WORLD);
    if (turn == 0 || job->late_us == 0)
        usleep(job->late_us > 0 ? job->late_us : ALIKE_US);
    if (turn == 0) { /* the tags keep a compiler from making one call of both */
        MPI_Send(&number, 1, MPI_DOUBLE, to, 1, MPI_COMM_WORLD); /* late: site */
    } else if (turn == 2) {
        MPI_Send(&number, 1, MPI_DOUBLE, to, 0, MPI_COMM_WORLD);
    } else if (turn == 1 || turn == 3) {
        MPI_Recv(&number, 1, MPI_DOUBLE, from, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static double processor_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Works, longer on higher ranks; while others have the processor, nothing gets done. */
static void imbalance(const struct job *job)
{
    double mine = job->rank, sum, begin_s = processor_s();
    double work_s = 1e-6 * (job->late_us > 0 ? job->late_us * (unsigned)(job->rank + 1) : ALIKE_US);
    while (processor_s() < begin_s + work_s)
        ;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* late: imbalance */
}

/* Sends from even ranks to those behind them, in small pieces. */
static void small(const struct job *job)
{
    static double numbers[AT_ONCE];
    int n = job->amount > 0 ? (int)job->amount : 1, size = job->amount > 0 ? 1 : AT_ONCE;
    for (int i = 0; i < n; i++)
        if (job->rank % 2 == 1)
            MPI_Recv(numbers, size, MPI_DOUBLE, job->rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else if (job->rank + 1 < job->size)
            MPI_Send(numbers, size, MPI_DOUBLE, job->rank + 1, 0, MPI_COMM_WORLD); /* late: small */
}

/* Exchanges much with one rank. */
static void placement(const struct job *job)
{
    static double mine[DOUBLES], other[DOUBLES];
    int partner = job->amount > 0 ? job->rank ^ 1 : job->rank ^ 2;
    if (partner < job->size)
        MPI_Sendrecv(mine, DOUBLES, MPI_DOUBLE, partner, 0, other, DOUBLES, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*act)(const struct job *job);
    } acts[] = {{"reduce", reduce}, {"send", send},           {"halo", halo},   {"receive", receive},    {"ring", ring},
                {"site", site},     {"imbalance", imbalance}, {"small", small}, {"placement", placement}};
    struct job job;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    job.amount = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
    job.late_us = 1000U * job.amount;
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++)
        for (job.time = 0; argc == 3 && strcmp(argv[1], acts[i].name) == 0 && job.time < TIMES; job.time++)
            acts[i].act(&job);
    MPI_Finalize();
    return argc == 3 ? 0 : 2;
}

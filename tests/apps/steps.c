/* steps computes and communicates in turns, as solvers do, with all of it chosen: a run whose prediction can be held
 * against the same program run otherwise.
 *
 *     steps KIND [-n STEPS] [-b BYTES] [-c US] [-j PERCENT] [-x RANK:FACTOR]
 *
 * KIND is halo (a ring of neighbours, nonblocking, a sum over all ranks each step), wavefront (blocking, from rank to
 * rank), double_buffer (the exchange of a step goes on while it computes), master_worker (rank 0 hands out work),
 * irregular (partners and sizes change from step to step), or sums_ahead (double_buffer with a nonblocking sum). Each
 * step computes US of processor time, more or less by up to PERCENT, as the rank and the step want; rank RANK computes
 * FACTOR times as long.
 *
 * Computation spends processor time, so that it takes longer where ranks share a core, as real computation does. */
#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/apps/app.h"

static struct {
    int steps, bytes, slow_rank;
    double compute_us, spread, factor;
} options = {.steps = 200, .bytes = 65536, .slow_rank = -1, .compute_us = 500, .spread = 0.2, .factor = 1};

static char *buffers[8];

static double processor_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* Returns a number in [0, 1) that follows from its arguments alone. */
static double chance(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15U + b * 0xbf58476d1ce4e5b9U + 0x94d049bb133111ebU;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return (double)((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
}

static void compute(int rank, int step)
{
    double us = options.compute_us * (1 + options.spread * (2 * chance((uint64_t)rank, (uint64_t)step) - 1));
    if (rank == options.slow_rank)
        us *= options.factor;
    volatile double x = 1.5;
    for (double end_us = processor_us() + us; processor_us() < end_us;)
        for (int i = 0; i < 100; i++)
            x = x * 1.0000001 + 1e-9;
}

static void halo(int rank, int size)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int step = 0; step < options.steps; step++) {
        MPI_Request requests[4];
        double sum, own = rank;
        compute(rank, step);
        MPI_Irecv(buffers[0], options.bytes, MPI_CHAR, left, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(buffers[1], options.bytes, MPI_CHAR, right, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(buffers[2], options.bytes, MPI_CHAR, right, 1, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(buffers[3], options.bytes, MPI_CHAR, left, 2, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void wavefront(int rank, int size)
{
    for (int step = 0; step < options.steps; step++) {
        if (rank > 0)
            MPI_Recv(buffers[0], options.bytes, MPI_CHAR, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(rank, step);
        if (rank + 1 < size)
            MPI_Send(buffers[1], options.bytes, MPI_CHAR, rank + 1, 1, MPI_COMM_WORLD);
    }
}

static void exchange_ahead(int rank, int size, bool sums)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int step = 0; step < options.steps; step++) {
        MPI_Request requests[3];
        double sum, own = rank;
        MPI_Irecv(buffers[step % 2], options.bytes, MPI_CHAR, left, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(buffers[2 + (step + 1) % 2], options.bytes, MPI_CHAR, right, 1, MPI_COMM_WORLD, &requests[1]);
        if (sums)
            MPI_Iallreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
        compute(rank, step);
        MPI_Waitall(sums ? 3 : 2, requests, MPI_STATUSES_IGNORE);
    }
}

static void double_buffer(int rank, int size)
{
    exchange_ahead(rank, size, false);
}

static void sums_ahead(int rank, int size)
{
    exchange_ahead(rank, size, true);
}

static void master_worker(int rank, int size)
{
    int jobs = options.steps * (size - 1), end = 0;
    if (rank > 0) {
        for (int step = 0;; step++) {
            MPI_Status status;
            MPI_Send(buffers[0], options.bytes / 4, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
            MPI_Recv(buffers[1], options.bytes, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            if (status.MPI_TAG == 2)
                return;
            compute(rank, step);
        }
    }
    for (int job = 0; end < size - 1; job++) {
        MPI_Status status;
        MPI_Recv(buffers[0], options.bytes / 4, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        end += job >= jobs;
        MPI_Send(buffers[1], job >= jobs ? 0 : options.bytes, MPI_CHAR, status.MPI_SOURCE, job >= jobs ? 2 : 1,
                 MPI_COMM_WORLD);
    }
}

static void irregular(int rank, int size)
{
    for (int step = 0; step < options.steps; step++) {
        MPI_Request requests[4];
        int n = 0;
        compute(rank, step);
        for (int i = 0; i < 2; i++) {
            int far = 1 + (int)(chance((uint64_t)step, (uint64_t)i) * (size - 1));
            int to = (rank + far) % size, from = (rank + size - far) % size;
            int bytes = (int)(options.bytes * chance((uint64_t)rank, (uint64_t)(step * 2 + i)));
            MPI_Irecv(buffers[i], options.bytes, MPI_CHAR, from, 1 + i, MPI_COMM_WORLD, &requests[n++]);
            MPI_Isend(buffers[2 + i], bytes, MPI_CHAR, to, 1 + i, MPI_COMM_WORLD, &requests[n++]);
        }
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    }
}

static void read_options(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "n:b:c:j:x:")) != -1;) {
        char *rest;
        switch (option) {
        case 'n':
            options.steps = (int)app_integer("-n", optarg, 1, 10000000);
            break;
        case 'b':
            options.bytes = (int)app_integer("-b", optarg, 0, 1 << 28);
            break;
        case 'c':
            options.compute_us = app_real("-c", optarg, 0);
            break;
        case 'j':
            options.spread = app_real("-j", optarg, 0) / 100;
            break;
        case 'x':
            options.slow_rank = (int)strtol(optarg, &rest, 10);
            options.factor = *rest == ':' ? app_real("-x", rest + 1, 0) : 2;
            break;
        default:
            app_fail("usage: steps KIND [-n STEPS] [-b BYTES] [-c US] [-j PERCENT] [-x RANK:FACTOR]");
        }
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(int rank, int size);
    } kinds[] = {{"halo", halo},
                 {"wavefront", wavefront},
                 {"double_buffer", double_buffer},
                 {"master_worker", master_worker},
                 {"irregular", irregular},
                 {"sums_ahead", sums_ahead}};
    MPI_Init(&argc, &argv);
    if (argc < 2)
        app_fail("usage: steps KIND ...; KIND: halo, wavefront, double_buffer, master_worker, irregular, sums_ahead");
    const char *name = argv[1];
    read_options(argc - 1, argv + 1);
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        buffers[i] = app_allocate((size_t)options.bytes + 1, 1);
    void (*run)(int, int) = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        run = strcmp(name, kinds[i].name) == 0 ? kinds[i].run : run;
    if (run == NULL)
        app_fail("%s: expected halo, wavefront, double_buffer, master_worker, irregular or sums_ahead", name);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin_s = MPI_Wtime();
    run(app_rank(), app_size());
    MPI_Barrier(MPI_COMM_WORLD);
    if (app_rank() == 0)
        printf("steps %s: %.6f s\n", name, MPI_Wtime() - begin_s);
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        free(buffers[i]);
    MPI_Finalize();
    return 0;
}

/* A job in regions with names, that tells what it did in which.
 *
 * usage: regions FOLDER plain|threads|hostile N|kill|off
 *
 * Each rank writes FOLDER/RANK with a line a region: PATH OCCURRENCES SECONDS SECONDS_IN_MPI, by its own clock. Steps
 * take 2 ms, but step SLOW of rank 1 takes 30 ms. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "interpose/region/mpistair_region.h"

enum { STEPS = 40, SLOW = 17, THREADS = 3, OFTEN = 1000, LONG_NAME = 10000 };

static FILE *told;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void tell(const char *path, long occurrences, double seconds, double in_mpi)
{
    fprintf(told, "%s %ld %.9f %.9f\n", path, occurrences, seconds, in_mpi);
    fflush(told);
}

static double reduce(void)
{
    double begin = now(), one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return now() - begin;
}

static double ring(int rank, int size)
{
    double begin = now();
    char out = 1, in;
    MPI_Sendrecv(&out, 1, MPI_CHAR, (rank + 1) % size, 0, &in, 1, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return now() - begin;
}

/* One place in the program, called in two regions. */
static void plain(int rank, int size)
{
    double steps = 0, steps_mpi = 0, exchange = 0, exchange_mpi = 0, begin, entered = now();
    mpistair_region_begin("solve");
    for (int i = 0; i < STEPS; i++) {
        begin = now();
        mpistair_region_begin("step");
        usleep(rank == 1 && i == SLOW ? 30000 : 2000);
        double exchange_begin = now();
        mpistair_region_begin("exchange");
        double in_mpi = ring(rank, size);
        mpistair_region_end("exchange");
        exchange += now() - exchange_begin;
        exchange_mpi += in_mpi;
        in_mpi += reduce();
        mpistair_region_end("step");
        steps += now() - begin;
        steps_mpi += in_mpi;
        mpistair_region_mark("stepped");
    }
    double more_mpi = ring(rank, size);
    mpistair_region_end("solve");
    tell("solve", 1, now() - entered, steps_mpi + more_mpi);
    tell("solve/step", STEPS, steps, steps_mpi);
    tell("solve/step/exchange", STEPS, exchange, exchange_mpi);
    tell("solve/stepped", STEPS, 0, 0);
    const char *phases[] = {"assemble", "write", "assemble"};
    double phase[2] = {0, 0}, phase_mpi[2] = {0, 0};
    for (int i = 0; i < 3; i++) {
        begin = now();
        mpistair_region_set(phases[i]);
        usleep(3000);
        phase_mpi[i % 2] += reduce();
        if (i == 2)
            mpistair_region_set(NULL);
        phase[i % 2] += now() - begin;
    }
    tell("assemble", 2, phase[0], phase_mpi[0]);
    tell("write", 1, phase[1], phase_mpi[1]);
}

static void *work(void *name)
{
    for (int i = 0; i < OFTEN; i++) {
        mpistair_region_begin(name);
        mpistair_region_begin("part");
        mpistair_region_end(NULL);
        mpistair_region_end(name);
    }
    return NULL;
}

static void threads(void)
{
    static char names[THREADS][16];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        snprintf(names[i], sizeof names[i], "thread %d", i % 2);
        pthread_create(&threads[i], NULL, work, names[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    tell("thread_0", 2 * OFTEN, 0, 0);
    tell("thread_1", OFTEN, 0, 0);
}

static void hostile(long n)
{
    static char name[LONG_NAME + 1];
    memset(name, 'x', LONG_NAME);
    for (int i = 0; i < 2; i++) { /* two names that differ behind what is kept */
        name[LONG_NAME - 1] = (char)('a' + i);
        mpistair_region_begin(name);
        mpistair_region_end(name);
    }
    mpistair_region_begin("\033[31m\nname \xff|,\"'");
    mpistair_region_end(NULL);
    mpistair_region_begin(NULL);
    mpistair_region_end(NULL);
    mpistair_region_begin("");
    mpistair_region_end("");
    mpistair_region_end("never begun"); /* three ends too many */
    mpistair_region_end("never begun");
    mpistair_region_end(NULL);
    mpistair_region_begin("outer"); /* two ends too few */
    mpistair_region_begin("left open");
    mpistair_region_begin("left open, too");
    mpistair_region_end("outer");
    for (int i = 0; i < 100; i++)
        mpistair_region_begin("deep");
    for (int i = 0; i < 100; i++)
        mpistair_region_end("deep");
    for (long i = 0; i < n; i++) {
        snprintf(name, sizeof name, "name %ld", i);
        mpistair_region_begin(name);
        mpistair_region_end(name);
    }
    reduce();
}

int main(int argc, char *argv[])
{
    int rank, size, provided;
    if (argc < 3)
        return 2;
    mpistair_region_begin("gone before MPI_Init");
    mpistair_region_end("gone before MPI_Init");
    mpistair_region_begin("job");
    MPI_Init_thread(&argc, &argv, strcmp(argv[2], "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED,
                    &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char path[4096];
    snprintf(path, sizeof path, "%s/%d", argv[1], rank);
    told = fopen(path, "w");
    if (!told)
        MPI_Abort(MPI_COMM_WORLD, 1);
    reduce();
    mpistair_region_end("job");
    reduce();
    if (strcmp(argv[2], "plain") == 0) {
        plain(rank, size);
    } else if (strcmp(argv[2], "threads") == 0) {
        threads();
    } else if (strcmp(argv[2], "hostile") == 0) {
        hostile(argc > 3 ? atol(argv[3]) : 0);
    } else if (strcmp(argv[2], "kill") == 0) {
        mpistair_region_begin("doomed");
        mpistair_region_begin("inner");
        double begin = now();
        while (now() - begin < 0.2)
            ring(rank, size);
        tell("doomed/inner", 1, now() - begin, 0);
        raise(SIGKILL);
    } else if (strcmp(argv[2], "off") == 0) {
        double begin = now();
        MPI_Pcontrol(0);
        for (int i = 0; i < STEPS; i++) {
            mpistair_region_begin("unseen");
            usleep(500);
            reduce();
            mpistair_region_end("unseen");
        }
        MPI_Pcontrol(1);
        tell("unseen", STEPS, now() - begin, 0);
    }
    mpistair_region_begin("open at the end");
    reduce();
    fclose(told);
    MPI_Finalize();
    mpistair_region_end("open at the end");
    return 0;
}

/* Many threads of two ranks exchange at once under MPI_THREAD_MULTIPLE: the hardest case for a recorder, as handles
 * that one thread frees are handed out to another at once.
 *
 *     threads TRAFFIC.csv [MESSAGES [THREADS]]
 *
 * Thread t of rank 0 and thread t of rank 1 exchange with tags of their own, in windows of requests that MPI_Waitany,
 * MPI_Wait, MPI_Testany or MPI_Waitsome complete, receives first; MESSAGES in all. Contents are checked. Exits with 77
 * where the MPI grants less than MPI_THREAD_MULTIPLE. */
#include "tests/apps/app.h"
#include "tests/apps/witness.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define WINDOW      8 /* messages of a thread in each direction at once */
#define MOST_THREAD 64

struct worker {
    pthread_t thread;
    int number;
    int other;
    long rounds;
    uint64_t sum;
};

static void complete_by_testany(int n, MPI_Request *requests)
{
    for (int done = 0, index, flag; done < n;) {
        MPI_Testany(n, requests, &index, &flag, MPI_STATUS_IGNORE);
        done += flag && index != MPI_UNDEFINED;
    }
}

static void complete_by_waitsome(int n, MPI_Request *requests)
{
    int indices[2 * WINDOW], some;
    for (int done = 0; done < n; done += some)
        MPI_Waitsome(n, requests, &some, indices, MPI_STATUSES_IGNORE);
}

static void complete(long round, int n, MPI_Request *requests)
{
    int index;
    switch (round % 8) {
    case 0:
        for (int i = 0; i < n; i++)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        break;
    case 1:
        complete_by_testany(n, requests);
        break;
    case 2:
        complete_by_waitsome(n, requests);
        break;
    default:
        for (int i = 0; i < n; i++)
            MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
    }
}

static void *exchange(void *argument)
{
    struct worker *worker = argument;
    int in[WINDOW], out[WINDOW];
    MPI_Request requests[2 * WINDOW];
    for (long round = 0; round < worker->rounds; round++) {
        int base = worker->number * WINDOW;
        for (int i = 0; i < WINDOW; i++) {
            int source = (round + i) % 4 ? worker->other : MPI_ANY_SOURCE;
            MPI_Irecv(&in[i], 1, MPI_INT, source, base + i, MPI_COMM_WORLD, &requests[i]);
        }
        for (int i = 0; i < WINDOW; i++) {
            out[i] = (int)((round * 31 + base + i) & 0xffff);
            MPI_Isend(&out[i], 1, MPI_INT, worker->other, base + i, MPI_COMM_WORLD, &requests[WINDOW + i]);
        }
        complete(round, 2 * WINDOW, requests);
        for (int i = 0; i < WINDOW; i++) {
            if (in[i] != (int)((round * 31 + base + i) & 0xffff))
                app_fail("thread %d received %d in round %ld", worker->number, in[i], round);
            worker->sum += (uint64_t)in[i];
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, rank, size;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long messages = argc > 2 ? atol(argv[2]) : 20000;
    int n_threads = argc > 3 ? atoi(argv[3]) : 8;
    if (argc < 2 || size != 2 || messages < 1 || n_threads < 1 || n_threads > MOST_THREAD)
        app_fail("usage: mpiexec -n 2 threads TRAFFIC.csv [MESSAGES [THREADS]]");
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    struct worker workers[MOST_THREAD];
    long rounds = messages / (2L * WINDOW * n_threads);
    uint64_t sum = 0, all = 0;
    for (int i = 0; i < n_threads; i++) {
        workers[i] = (struct worker){.number = i, .other = 1 - rank, .rounds = rounds > 0 ? rounds : 1};
        if (pthread_create(&workers[i].thread, NULL, exchange, &workers[i]) != 0)
            app_fail("no thread %d", i);
    }
    struct traffic traffic;
    witness_init(&traffic);
    for (int i = 0; i < n_threads; i++) {
        pthread_join(workers[i].thread, NULL);
        sum += workers[i].sum;
        for (long k = 0; k < workers[i].rounds * WINDOW; k++)
            traffic_sent(&traffic, 1 - rank, sizeof(int));
    }
    MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %llu\n", (unsigned long long)all);
    traffic_write(&traffic, argv[1]);
    MPI_Finalize();
    return 0;
}

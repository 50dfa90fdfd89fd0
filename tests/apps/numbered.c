/* Jobs whose every call is counted, and whose every message tells its number by its size: what a recording holds of
 * them, whole or in parts, can be held against the program.
 *
 * usage: numbered KIND [STEPS]
 *
 * The k-th message from one rank to another on a communicator and tag has size_of(k) bytes, and receives without
 * wildcards are posted with exactly that size, so a pair of a send and a receive that do not belong together has bytes
 * left over. At the end each rank prints a line for each function that it called: `rank=R MPI_X calls=N bytes=B`. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SIZES = 97, MOST_BYTES = 8 * (SIZES + 1), COMMUNICATORS = 2000, THREADS = 3, FUNCTIONS = 32 };

struct count {
    const char *function;
    uint64_t calls, bytes;
};

static struct count counts[FUNCTIONS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int rank, size, left, right;
static char out[64 * MOST_BYTES], in[64 * MOST_BYTES];

/* Counts calls and the bytes that they hand in; of receives those that they ask for. */
static void count(const char *function, uint64_t calls, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    int i = 0;
    while (counts[i].function && strcmp(counts[i].function, function) != 0)
        i++;
    counts[i].function = function;
    counts[i].calls += calls;
    counts[i].bytes += bytes;
    pthread_mutex_unlock(&lock);
}

static int size_of(long k)
{
    return 8 * (int)(k % SIZES + 1);
}

static void pause_us(long us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static void exchange(MPI_Comm comm, int tag, long k)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int bytes = size_of(k);
    MPI_Irecv(in, bytes, MPI_BYTE, left, tag, comm, &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, right, tag, comm, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    count("MPI_Irecv", 1, (uint64_t)bytes);
    count("MPI_Isend", 1, (uint64_t)bytes);
    count("MPI_Waitall", 1, 0);
}

/* The last rank is late by about half of what the steps before took, so by a third of the run on any machine. */
static void halo(long steps)
{
    double begin_s = MPI_Wtime();
    for (long k = 0; k < steps; k++) {
        if (k % 50 == 0 && rank == size - 1) {
            double steps_us = 1e6 * (MPI_Wtime() - begin_s);
            pause_us(steps_us < 600 ? 300 : steps_us > 200000 ? 100000 : (long)(steps_us / 2));
            begin_s = MPI_Wtime();
        }
        exchange(MPI_COMM_WORLD, 0, k);
    }
}

static void wavefront(long steps)
{
    for (long k = 0; k < steps; k++) {
        if (rank > 0) {
            MPI_Recv(in, size_of(k), MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            count("MPI_Recv", 1, (uint64_t)size_of(k));
        }
        if (rank < size - 1) {
            MPI_Send(out, size_of(k), MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
            count("MPI_Send", 1, (uint64_t)size_of(k));
        }
    }
}

/* Workers send results of any number, the master answers each. */
static void master_worker(long steps)
{
    if (rank > 0) {
        for (long k = 0; k < steps; k++) {
            MPI_Sendrecv(out, size_of(k), MPI_BYTE, 0, 2, in, size_of(k), MPI_BYTE, 0, 3, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            count("MPI_Sendrecv", 2, 2 * (uint64_t)size_of(k));
        }
        return;
    }
    long *given = calloc((size_t)size, sizeof *given);
    for (long k = 0; k < steps * (size - 1); k++) {
        MPI_Status status;
        MPI_Recv(in, MOST_BYTES, MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
        int bytes = size_of(given[status.MPI_SOURCE]++);
        MPI_Send(out, bytes, MPI_BYTE, status.MPI_SOURCE, 3, MPI_COMM_WORLD);
        count("MPI_Recv", 1, MOST_BYTES);
        count("MPI_Send", 1, (uint64_t)bytes);
    }
    free(given);
}

static void communicators(long steps)
{
    MPI_Comm *comms = malloc(COMMUNICATORS * sizeof *comms);
    long *k = calloc(COMMUNICATORS, sizeof *k);
    for (int i = 0; i < COMMUNICATORS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (long step = 0; step < steps; step++) {
        int i = (int)(step * 7 % COMMUNICATORS);
        exchange(comms[i], 0, k[i]++);
    }
    for (int i = 0; i < COMMUNICATORS; i++)
        MPI_Comm_free(&comms[i]);
    count("MPI_Comm_dup", COMMUNICATORS, 0);
    free(comms);
    free(k);
}

static long thread_steps;

static void *thread_main(void *data)
{
    int tag = (int)(intptr_t)data;
    char mine[MOST_BYTES] = {0}, theirs[MOST_BYTES];
    for (long k = 0; k < thread_steps; k++) {
        MPI_Sendrecv(mine, size_of(k), MPI_BYTE, right, tag, theirs, size_of(k), MPI_BYTE, left, tag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        count("MPI_Sendrecv", 2, 2 * (uint64_t)size_of(k));
    }
    return NULL;
}

static void threads(long steps)
{
    pthread_t ids[THREADS];
    thread_steps = steps / THREADS;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&ids[i], NULL, thread_main, (void *)(intptr_t)(10 + i));
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
}

/* Persistent requests of one size each: SIZES pairs of them, used in turn. */
enum { PARTITIONS = 4 };

/* Starts the requests of a receive and a send of each size in turn, makes partitions ready, the last one first, waits,
 * and frees them in the end. */
static void start_in_turn(MPI_Request requests[SIZES][2], long steps, int partitions)
{
    MPI_Status statuses[2];
    for (long k = 0; k < steps; k++) {
        MPI_Startall(2, requests[k % SIZES]);
#if MPI_VERSION >= 4
        for (int part = partitions; part-- > 0;)
            MPI_Pready(part, requests[k % SIZES][1]);
#endif
        MPI_Waitall(2, requests[k % SIZES], statuses);
        count("MPI_Startall", 2, 2 * (uint64_t)size_of(k));
        count("MPI_Waitall", 1, 0);
    }
    for (int i = 0; i < SIZES; i++)
        for (int side = 0; side < 2; side++)
            MPI_Request_free(&requests[i][side]);
    (void)partitions;
}

static void persistent(long steps)
{
    static MPI_Request requests[SIZES][2];
    for (int i = 0; i < SIZES; i++) {
        MPI_Recv_init(in, size_of(i), MPI_BYTE, left, 4, MPI_COMM_WORLD, &requests[i][0]);
        MPI_Send_init(out, size_of(i), MPI_BYTE, right, 4, MPI_COMM_WORLD, &requests[i][1]);
    }
    start_in_turn(requests, steps, 0);
}

#if MPI_VERSION >= 4
static void partitioned(long steps)
{
    static MPI_Request requests[SIZES][2];
    for (int i = 0; i < SIZES; i++) {
        MPI_Precv_init(in, PARTITIONS, size_of(i) / PARTITIONS, MPI_BYTE, left, 7, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[i][0]);
        MPI_Psend_init(out, PARTITIONS, size_of(i) / PARTITIONS, MPI_BYTE, right, 7, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[i][1]);
    }
    start_in_turn(requests, steps, PARTITIONS);
}
#endif

/* Exchanges for so many seconds; for a thirtieth of them, from 0.6 of them on, the last rank is slow. */
static void slow_stretch(long seconds)
{
    double begin_s = MPI_Wtime(), until_s = (double)seconds;
    enum { FAST, SLOW, OVER } now = FAST;
    for (long k = 0; now != OVER; k++) {
        if (k % 256 == 0 || now == SLOW) {
            double passed = (MPI_Wtime() - begin_s) / until_s;
            now = passed >= 1 ? OVER : passed >= 0.6 && passed < 0.6 + 1 / 30.0 ? SLOW : FAST;
            MPI_Bcast(&now, sizeof now, MPI_BYTE, 0, MPI_COMM_WORLD);
            count("MPI_Bcast", 1, sizeof now);
        }
        if (now == SLOW && rank == size - 1)
            pause_us(50000); /* longer than a step even on a machine that others use */
        exchange(MPI_COMM_WORLD, 0, k);
    }
}

static void one_sided(long steps)
{
    MPI_Win window;
    MPI_Win_create(in, sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (long k = 0; k < steps; k++) {
        if (k % 8 == 0) {
            MPI_Win_fence(0, window);
            count("MPI_Win_fence", 1, 0);
        }
        MPI_Put(out, size_of(k), MPI_BYTE, right, 0, size_of(k), MPI_BYTE, window);
        count("MPI_Put", 1, (uint64_t)size_of(k));
    }
    MPI_Win_fence(0, window);
    count("MPI_Win_fence", 1, 0);
    MPI_Win_free(&window);
}

static void files(long steps)
{
    char name[4096];
    MPI_File file;
    snprintf(name, sizeof name, "%s/numbered.%ld.out", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (long)getpid());
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    count("MPI_Bcast", 1, sizeof name);
    if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &file) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (long k = 0; k < steps; k++) {
        MPI_File_write_at(file, (MPI_Offset)rank * MOST_BYTES, out, size_of(k), MPI_BYTE, MPI_STATUS_IGNORE);
        count("MPI_File_write_at", 1, (uint64_t)size_of(k));
    }
    MPI_File_close(&file);
}

static void collectives(long steps)
{
    for (long k = 0; k < steps; k++) {
        MPI_Allreduce(out, in, size_of(k), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
        count("MPI_Allreduce", 1, (uint64_t)size_of(k));
        if (k % 10 == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
            count("MPI_Barrier", 1, 0);
        }
    }
}

/* The pattern changes in the middle: neighbours, then a shift by two with another tag, then collectives. */
static void changing(long steps)
{
    halo(steps / 2);
    int far_left = (rank + 2 * size - 2) % size, far_right = (rank + 2) % size;
    for (long k = 0; k < steps / 4; k++) {
        MPI_Sendrecv(out, size_of(k), MPI_BYTE, far_right, 5, in, size_of(k), MPI_BYTE, far_left, 5, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        count("MPI_Sendrecv", 2, 2 * (uint64_t)size_of(k));
    }
    collectives(steps / 4);
}

/* Polls for a message that comes late. */
static void polls(long steps)
{
    for (long k = 0; k < steps / 1000; k++) {
        if (rank % 2 == 0) {
            pause_us(500);
            MPI_Send(out, size_of(k), MPI_BYTE, rank + 1, 6, MPI_COMM_WORLD);
            count("MPI_Send", 1, (uint64_t)size_of(k));
        } else {
            MPI_Request request;
            int done = 0;
            MPI_Irecv(in, size_of(k), MPI_BYTE, rank - 1, 6, MPI_COMM_WORLD, &request);
            count("MPI_Irecv", 1, (uint64_t)size_of(k));
            while (!done) {
                MPI_Test(&request, &done, MPI_STATUS_IGNORE);
                count("MPI_Test", 1, 0);
            }
        }
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(long steps);
        long steps;
    } kinds[] = {
        {"halo", halo, 100000},
        {"wavefront", wavefront, 200000},
        {"master_worker", master_worker, 60000},
        {"communicators", communicators, 60000},
        {"threads", threads, 9000},
        {"persistent", persistent, 100000},
        {"one_sided", one_sided, 200000},
        {"files", files, 100000},
        {"collectives", collectives, 50000},
        {"changing", changing, 100000},
#if MPI_VERSION >= 4
        {"partitioned", partitioned, 100000},
#endif
        {"polls", polls, 100000},
        {"slow_stretch", slow_stretch, 30}
    };
    size_t kind = 0, n_kinds = sizeof kinds / sizeof *kinds;
    while (kind < n_kinds && (argc < 2 || strcmp(argv[1], kinds[kind].name) != 0))
        kind++;
    if (kind == n_kinds) {
        fprintf(stderr, "usage: numbered KIND [STEPS]\nkinds:");
        for (size_t i = 0; i < n_kinds; i++)
            fprintf(stderr, " %s", kinds[i].name);
        fprintf(stderr, "\n");
        return 2;
    }
    int got;
    MPI_Init_thread(&argc, &argv, kinds[kind].run == threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &got);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    kinds[kind].run(argc > 2 ? atol(argv[2]) : kinds[kind].steps);
    for (int i = 0; i < FUNCTIONS && counts[i].function; i++)
        printf("rank=%d %s calls=%llu bytes=%llu\n", rank, counts[i].function, (unsigned long long)counts[i].calls,
               (unsigned long long)counts[i].bytes);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

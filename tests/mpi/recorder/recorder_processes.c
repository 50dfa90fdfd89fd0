/* Has cases of processes, threads and communicators: how a job ends, forks, makes communicators, communicates at the
 * end. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mpi/recorder/recorder_expect.h"

#define THREADS  4
#define MESSAGES 500

static char process_buffer[2][64];

static void exchange_on(MPI_Comm comm, int comm_index, int peer, int tag)
{
    MPI_Sendrecv(process_buffer[0], 4, MPI_BYTE, peer, tag, process_buffer[1], 4, MPI_BYTE, peer, tag, comm,
                 MPI_STATUS_IGNORE);
    expect("Sendrecv", "send", comm_index, peer, tag, 4, 1, BLOCKING);
    expect("Sendrecv", "receive", comm_index, peer, tag, 4, 1, BLOCKING | SECOND);
}

/* Makes tracked and untracked creations. Indices: 2 the split, then what this rank meets. */
void case_communicators(int rank)
{
    MPI_Comm half, inter, dup, none;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &half);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 1 : MPI_UNDEFINED, 0, &none); /* rank 0: index 3 */
    int next = rank == 0 ? 4 : 3;
    if (none != MPI_COMM_NULL)
        MPI_Comm_free(&none);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_set_name(dup, "the double");
    exchange_on(dup, next, 1 - rank, 1);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank, 5, &inter);
    exchange_on(inter, next + 1, 0, 2); /* rank 0 of the remote group */
    exchange_on(half, 2, 0, 3);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&dup);
    for (int i = 0; i < 300; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        exchange_on(dup, next + 2 + i, 1 - rank, 4);
        MPI_Comm_free(&dup);
    }
    exchange_on(MPI_COMM_SELF, 1, 0, 6);
    MPI_Comm_free(&half);
}

static int thread_rank;
static pthread_barrier_t all_have_lanes;

static void *talk(void *argument)
{
    int tag = *(int *)argument;
    char in = 0, out = 1;
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Request requests[2];
        int flag = 0, index;
        MPI_Irecv(&in, 1, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : thread_rank, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&out, 1, MPI_BYTE, thread_rank, tag, MPI_COMM_WORLD, &requests[1]);
        if (i % 3 == 0)
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        else if (i % 3 == 1)
            for (int k = 0; k < 2; k++)
                MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        else
            while (!flag)
                MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
        if (i == 0)
            pthread_barrier_wait(&all_have_lanes);
    }
    return NULL;
}

/* Runs threads that talk to their own rank, each under its tag; twice, so that lanes are used again. */
void case_threads(int rank)
{
    int provided;
    MPI_Query_thread(&provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE);
    thread_rank = rank;
    pthread_barrier_init(&all_have_lanes, NULL, THREADS);
    for (int round = 0; round < 2; round++) {
        pthread_t threads[THREADS];
        int tags[THREADS];
        for (int i = 0; i < THREADS; i++) {
            tags[i] = round * THREADS + i;
            REQUIRE(pthread_create(&threads[i], NULL, talk, &tags[i]) == 0);
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    for (int tag = 0; tag < 2 * THREADS; tag++)
        for (int i = 0; i < MESSAGES; i++) {
            expect("Irecv", "receive", 0, rank, tag, 1, 1, i % 2 ? WILD_SOURCE : 0);
            expect("Isend", "send", 0, rank, tag, 1, 1, 0);
        }
}

static int send_at_the_end(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)state;
    exchange_on(MPI_COMM_WORLD, 0, 1 - *(int *)value, 77);
    return MPI_SUCCESS;
}

void case_finalize(int rank)
{
    static int kept_rank;
    int key;
    kept_rank = rank;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, send_at_the_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &kept_rank);
}

/* Forks a child that exits, and a child that runs a program: neither touches the spool. */
void case_fork(int rank)
{
    int status;
    exchange_on(MPI_COMM_WORLD, 0, 1 - rank, 1);
    pid_t child = fork();
    if (child == 0)
        exit(3);
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
    REQUIRE(system("ls / >/dev/null") == 0);
    exchange_on(MPI_COMM_WORLD, 0, 1 - rank, 2);
}

void case_exit(int rank)
{
    exchange_on(MPI_COMM_WORLD, 0, 1 - rank, 1);
    expect_close();
    exit(0);
}

void case_abort(int rank)
{
    exchange_on(MPI_COMM_WORLD, 0, 1 - rank, 1);
    expect_close();
    if (rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    for (;;)
        pause();
}

/* Ends without a chance to close: all posts are there, the last one pending. */
void case_kill(int rank)
{
    MPI_Request request;
    exchange_on(MPI_COMM_WORLD, 0, 1 - rank, 1);
    MPI_Irecv(process_buffer[0], 4, MPI_BYTE, 1 - rank, 2, MPI_COMM_WORLD, &request);
    expect("Irecv", "receive", 0, 1 - rank, 2, 4, 0, 0);
    expect_close();
    raise(SIGKILL);
}

/* Makes more records than the spool may hold: RECORDER_FLOOD sends to nobody. */
void case_flood(int rank)
{
    const char *n = getenv("RECORDER_FLOOD");
    for (long i = n ? atol(n) : 0; i > 0; i--)
        MPI_Send(process_buffer[0], 1, MPI_BYTE, MPI_PROC_NULL, rank, MPI_COMM_WORLD);
}

void case_collectives(int rank)
{
    int in[4] = {rank, rank, rank, rank}, out[8], counts[2] = {1, 3}, places[2] = {0, 1};
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(in, 3, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Allreduce(in, out, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(in, out, 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Gather(in, 2, MPI_INT, out, 2, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Gatherv(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatter(out, 3, MPI_INT, in, 3, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatterv(out, counts, places, MPI_INT, in, counts[rank], MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 4, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(in, 2, MPI_INT, out, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(in, out, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

#ifdef MPISTAIR_STANDARD_ABI
#define COMM_NUMBER MPI_Comm_toint
#else
#define COMM_NUMBER MPI_Comm_c2f
#endif

void case_untouched(int rank)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Comm first, second;
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &second);
    expect_number("the first communicator", COMM_NUMBER(first));
    expect_number("the second communicator", COMM_NUMBER(second));
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    expect_number("errors are fatal", handler == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    MPI_Get_library_version(library, &length);
    if (strstr(library, "Open MPI") == NULL) { /* there a copy keeps the error handler that MPI_COMM_WORLD had */
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        expect_number("a split to nowhere", MPI_Comm_split(first, 0, 0, NULL) != MPI_SUCCESS);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    }
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
#ifdef OPEN_MPI /* MPICH's UCX complains of it */
    static int left_behind;
    MPI_Request request;
    MPI_Irecv(&left_behind, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
#endif
}

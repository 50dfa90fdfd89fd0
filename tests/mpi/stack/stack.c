/* Makes the same calls of MPI below different callers, in every rank and thread: see stack.py, which knows the
 * comments. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

#define REPEATED 20
#define KEEP     __asm__ volatile("") /* behind a call: no tail call */

static int rank, other;

static __attribute__((noinline)) void leaf(int tag)
{
    int out = tag, in = -1;
    MPI_Request request;
    MPI_Irecv(&in, 1, MPI_INT, other, tag, MPI_COMM_WORLD, &request); /* irecv */
    MPI_Send(&out, 1, MPI_INT, other, tag, MPI_COMM_WORLD);           /* send */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (in != tag)
        MPI_Abort(MPI_COMM_WORLD, 3);
}

static __attribute__((noinline)) void left(int tag)
{
    leaf(tag); /* left */
    KEEP;
}

static __attribute__((noinline)) void right(int tag)
{
    leaf(tag); /* right */
    KEEP;
}

static __attribute__((noinline)) void repeat(int tag)
{
    for (int i = 0; i < REPEATED; i++) {
        left(tag);  /* repeat left */
        right(tag); /* repeat right */
    }
}

static void *thread(void *tag)
{
    repeat(*(int *)tag);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[3];
    int tags[3] = {1, 2, 3}, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    repeat(0);
    for (int i = 0; i < 3 && provided == MPI_THREAD_MULTIPLE; i++)
        pthread_create(&threads[i], NULL, thread, &tags[i]);
    for (int i = 0; i < 3 && provided == MPI_THREAD_MULTIPLE; i++)
        pthread_join(threads[i], NULL);
    MPI_Barrier(MPI_COMM_WORLD); /* barrier */
    printf("rank %d: %s\n", rank, provided == MPI_THREAD_MULTIPLE ? "4 threads" : "1 thread");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

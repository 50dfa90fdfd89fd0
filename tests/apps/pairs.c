/* Makes messages whose pairs are easily got wrong: cancelled and freed requests, calls that MPI rejects, receives that
 * are too short, error handlers that jump out of the call, wildcard receives whose end nobody asks for, and lost
 * handles. Rank 0 sends, rank 1 receives; on an envelope every send has a size of its own and every receive room of its
 * own.
 *
 * usage: pairs FILE [full], with two ranks; rank 1 writes what it received: a line a message, `tag room bytes`. full
 * makes only the messages of a thread whose records no longer fit. */
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 1000, BYTES = 20 };
static char in[1 << 17], out[1 << 17];
static FILE *truth;
static int n_sent, n_posted;
static jmp_buf back;

static void send(int tag)
{
    MPI_Send(out, BYTES + n_sent++, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
}

static void note(int tag, int room, int bytes)
{
    fprintf(truth, "%d %d %d\n", tag, room, bytes);
}

static void note_status(int room, const MPI_Status *status)
{
    int bytes;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    note(status->MPI_TAG, room, bytes);
}

static void receive(int tag)
{
    MPI_Status status;
    int room = ROOM + n_posted++;
    MPI_Recv(in, room, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &status);
    note_status(room, &status);
}

/* Exchanges n messages of a tag, the first received as soon as both ranks are here. */
static void exchange(int rank, int tag, int n)
{
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        if (rank == 0)
            send(tag);
        else
            receive(tag);
    }
}

/* Makes receives that are cancelled and freed, and a send that MPI may or may not take back. */
static void cancelled(int rank)
{
    MPI_Request request;
    for (int wild = 0; wild < 2 && rank == 1; wild++) {
        MPI_Irecv(in, ROOM + n_posted++, MPI_BYTE, wild ? MPI_ANY_SOURCE : 0, 10, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Request_free(&request);
    }
    exchange(rank, 10, 3);
    if (rank == 0) {
        MPI_Issend(out, BYTES + n_sent++, MPI_BYTE, 1, 11, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Request_free(&request);
        send(11);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int there = 1; rank == 1 && there;) {
        MPI_Iprobe(0, 11, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        if (there)
            receive(11);
    }
}

/* Makes calls from which MPI returns with an error. Those of the first rows are on the envelope of the messages behind
 * them. */
static void rejected(int rank)
{
    MPI_Request request;
    MPI_Datatype uncommitted;
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    if (rank == 0) {
        MPI_Send(out, -1, MPI_BYTE, 1, 20, MPI_COMM_WORLD);
        MPI_Isend(out, 1, uncommitted, 1, 20, MPI_COMM_WORLD, &request);
        MPI_Send(out, 1, MPI_BYTE, 99, 20, MPI_COMM_WORLD);
        MPI_Send(out, 1, MPI_BYTE, -99, 20, MPI_COMM_WORLD);
        MPI_Isend(out, 1, MPI_BYTE, 99, 20, MPI_COMM_WORLD, &request);
        MPI_Send(out, 1, MPI_BYTE, 1, -99, MPI_COMM_WORLD);
        MPI_Send(out, 1, MPI_BYTE, 1, 20, MPI_COMM_NULL);
    } else {
        MPI_Recv(in, -1, MPI_BYTE, 0, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(in, 1, uncommitted, MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(in, -1, MPI_BYTE, 0, 20, MPI_COMM_WORLD, &request);
        MPI_Irecv(in, 1, MPI_BYTE, 99, 20, MPI_COMM_WORLD, &request);
        MPI_Recv(in, 1, MPI_BYTE, 0, 20, MPI_COMM_NULL, MPI_STATUS_IGNORE);
    }
    exchange(rank, 20, 3);
    MPI_Type_free(&uncommitted);
}

/* Posts receives that are too short for a message: it is gone. */
static void cut(int rank)
{
    MPI_Request request;
    MPI_Status status;
    if (rank == 0) {
        for (int i = 0; i < 3; i++)
            send(30);
        MPI_Sendrecv(out, BYTES + n_sent++, MPI_BYTE, 1, 30, in, 3, MPI_BYTE, 1, 31, MPI_COMM_WORLD, &status);
    } else {
        int first = n_sent = 0;
        MPI_Probe(0, 30, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &first);
        MPI_Recv(in, 1, MPI_BYTE, 0, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        note(30, 1, first);
        MPI_Irecv(in, 2, MPI_BYTE, MPI_ANY_SOURCE, 30, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        note(30, 2, first + 1);
        receive(30);
        MPI_Sendrecv(out, 77, MPI_BYTE, 0, 31, in, 3, MPI_BYTE, 0, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        note(31, 3, 77);
        note(30, 3, first + 3);
    }
    exchange(rank, 30, 2);
}

static void jump(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    longjmp(back, 1);
}

/* The error handler leaves the call. */
static void left(int rank)
{
    MPI_Request request;
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (setjmp(back) == 0) {
        if (rank == 0)
            MPI_Send(out, -1, MPI_BYTE, 1, 40, MPI_COMM_WORLD);
        else
            MPI_Recv(in, -1, MPI_BYTE, 0, 41, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (setjmp(back) == 0) {
        if (rank == 0)
            MPI_Isend(out, -1, MPI_BYTE, 1, 40, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(in, -1, MPI_BYTE, 0, 40, MPI_COMM_WORLD, &request);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
    exchange(rank, 40, 3);
    exchange(rank, 41, 2); /* uncertain: the receive may have been too short for a message */
}

/* Posts two wildcard receives that nobody asks about; the second took a message. */
static void open_wildcards(int rank)
{
    static char first[64], second[64];
    MPI_Request requests[2];
    if (rank == 1) {
        MPI_Irecv(first, 60, MPI_BYTE, MPI_ANY_SOURCE, 50, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(second, 61, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Send(out, 1, MPI_BYTE, 1, 50, MPI_COMM_WORLD);
        MPI_Send(out, 2, MPI_BYTE, 1, 51, MPI_COMM_WORLD);
    }
    exchange(rank, 51, 2);
}

/* Loses the handle of a small send; each of the next ones is reported before another is posted. */
static void lost_handle(int rank)
{
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Isend(out, BYTES + n_sent++, MPI_BYTE, 1, 60, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 5 && rank == 0; i++) {
        MPI_Isend(out, BYTES + n_sent++, MPI_BYTE, 1, 60, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 6 && rank == 1; i++)
        receive(60);
}

/* Makes a send that nobody receives. */
static void never_received(int rank)
{
    MPI_Request request;
    if (rank == 1)
        return;
    MPI_Issend(out, BYTES + n_sent++, MPI_BYTE, 1, 70, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Request_free(&request);
}

/* Sends one message, then makes more calls than the spool has room for, and more messages. A receive that stays open in
 * every chunk keeps the recorder from adding up its records, so what comes later is lost. */
static void *fill(void *unused)
{
    enum { CALLS = 17000, EVERY = 500 };
    MPI_Request open[CALLS / EVERY];
    send(80);
    for (int i = 0; i < CALLS; i++) {
        if (i % EVERY == 0)
            MPI_Irecv(in, ROOM, MPI_BYTE, 1, 82, MPI_COMM_WORLD, &open[i / EVERY]);
        MPI_Send(out, 1, MPI_BYTE, MPI_PROC_NULL, 81, MPI_COMM_WORLD);
    }
    send(80);
    send(80);
    for (int i = 0; i < CALLS / EVERY; i++)
        MPI_Cancel(&open[i]);
    MPI_Waitall(CALLS / EVERY, open, MPI_STATUSES_IGNORE);
    return unused;
}

/* Another thread, which has a chunk from the barrier on, goes on where one ran out of room. */
static void full(int rank)
{
    pthread_t thread;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && pthread_create(&thread, NULL, fill, NULL) == 0)
        pthread_join(thread, NULL);
    for (int i = 0; i < 2 && rank == 0; i++)
        send(80);
    for (int i = 0; i < 5 && rank == 1; i++)
        receive(80);
}

int main(int argc, char **argv)
{
    int rank, level;
    MPI_Init_thread(&argc, &argv, argc == 3 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (argc < 2 || argc > 3 || (rank == 1 && !(truth = fopen(argv[1], "w"))))
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (argc == 3) {
        full(rank);
    } else {
        lost_handle(rank);
        cancelled(rank);
        rejected(rank);
        cut(rank);
        left(rank);
        open_wildcards(rank);
        never_received(rank);
    }
    if (truth)
        fclose(truth);
    MPI_Finalize();
    return 0;
}

/* Makes probes, and matched probes in an order that only they can have: Mprobe, Recv, Mrecv. */
#include "tests/mpi/matrix/matrix.h"

static void send(int tag, int n, int seed)
{
    int out[20];
    matrix_fill(out, n, seed);
    CALL(Send, (out, n, MPI_INT, 1, tag, MPI_COMM_WORLD));
    matrix_sent(1, tag, (size_t)n * sizeof(int));
}

static void probes(void)
{
    int in[20], flag, n;
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Status status;
    if (matrix_rank == 0) {
        send(300, 5, 1);
        send(301, 6, 2);
        return;
    }
    CALL(Probe, (MPI_ANY_SOURCE, MPI_ANY_TAG, w, &status));
    MPI_Get_count(&status, MPI_INT, &n);
    CALL(Recv, (in, n, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, w, MPI_STATUS_IGNORE));
    matrix_check(in, 5, 1, "Probe");
    do
        TRY(Iprobe, (0, 301, w, &flag, MPI_STATUS_IGNORE));
    while (!flag);
    matrix_found();
    CALL(Recv, (in, 20, MPI_INT, 0, 301, w, MPI_STATUS_IGNORE));
    matrix_check(in, 6, 2, "Iprobe");
}

static void matched(void)
{
    int in[20], flag;
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    if (matrix_rank == 0) {
        send(310, 7, 3); /* three of one envelope: the first is probed, the second received before it */
        send(310, 8, 4);
        send(310, 9, 5);
        send(311, 10, 6);
        return;
    }
    CALL(Mprobe, (0, 310, w, &message, MPI_STATUS_IGNORE));
    CALL(Recv, (in, 20, MPI_INT, 0, 310, w, MPI_STATUS_IGNORE));
    matrix_check(in, 8, 4, "Recv behind Mprobe");
    CALL(Mrecv, (in, 20, MPI_INT, &message, &status));
    matrix_check(in, 7, 3, "Mrecv");
    do
        TRY(Improbe, (MPI_ANY_SOURCE, 310, w, &flag, &message, MPI_STATUS_IGNORE));
    while (!flag);
    matrix_found();
    CALL(Imrecv, (in, 20, MPI_INT, &message, &request));
    CALL(Wait, (&request, &status));
    matrix_check(in, 9, 5, "Imrecv");
    CALL(Mprobe, (MPI_ANY_SOURCE, MPI_ANY_TAG, w, &message, &status));
    CALL(Imrecv, (in, 20, MPI_INT, &message, &request));
    CALL(Wait, (&request, MPI_STATUS_IGNORE));
    matrix_check(in, 10, 6, "Mprobe with wildcards");
}

static void of_nobody(void)
{
    int in;
    MPI_Message message;
    MPI_Status status;
    CALL(Mprobe, (MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status));
    matrix_must(message == MPI_MESSAGE_NO_PROC, "Mprobe of MPI_PROC_NULL");
    CALL(Mrecv, (&in, 1, MPI_INT, &message, &status));
}

void matrix_probe(void)
{
    probes();
    matched();
    of_nobody();
}

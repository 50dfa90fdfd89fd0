/* Calls the non-blocking modes: several live requests at once, wildcards that a later call resolves, Isendrecv. */
#include "tests/mpi/matrix/matrix.h"

#include <stdlib.h>

static void nonblocking_modes(void)
{
    int buffers[5][50];
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Request requests[5];
    if (matrix_rank == 0) {
        void *room = malloc(MPI_BSEND_OVERHEAD + sizeof buffers[0]);
        int bytes, go;
        MPI_Buffer_attach(room, MPI_BSEND_OVERHEAD + (int)sizeof buffers[0]);
        for (int i = 0; i < 5; i++)
            matrix_fill(buffers[i], 50, 20 + i);
        CALL(Recv, (&go, 1, MPI_INT, 1, 20, w, MPI_STATUS_IGNORE));
        CALL(Isend, (buffers[0], 10, MPI_INT, 1, 21, w, &requests[0]));
        CALL(Ibsend, (buffers[1], 20, MPI_INT, 1, 22, w, &requests[1]));
        CALL(Issend, (buffers[2], 30, MPI_INT, 1, 23, w, &requests[2]));
        CALL(Irsend, (buffers[3], 40, MPI_INT, 1, 24, w, &requests[3]));
        CALL(Isend, (buffers[4], 50, MPI_INT, MPI_PROC_NULL, 25, w, &requests[4]));
        CALL(Waitall, (5, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 4; i++)
            matrix_sent(1, 21 + i, (size_t)(10 + 10 * i) * sizeof(int));
        MPI_Buffer_detach(&room, &bytes);
        free(room);
    } else {
        for (int i = 0; i < 4; i++) {
            int source = i % 2 ? MPI_ANY_SOURCE : 0;
            CALL(Irecv, (buffers[i], 50, MPI_INT, source, 21 + i, w, &requests[i]));
        }
        CALL(Irecv, (buffers[4], 50, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, w, &requests[4]));
        CALL(Send, (&matrix_rank, 1, MPI_INT, 0, 20, w));
        matrix_sent(0, 20, 4);
        CALL(Waitall, (5, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 4; i++)
            matrix_check(buffers[i], 10 + 10 * i, 20 + i, "a non-blocking mode");
    }
}

/* Receives with two wildcards take what comes in the order of their posting. */
static void wildcards(void)
{
    int in[4][10], out[10];
    MPI_Request requests[4];
    if (matrix_rank == 0) {
        for (int i = 0; i < 4; i++) {
            matrix_fill(out, 10, 30 + i);
            CALL(Send, (out, 6 + i, MPI_INT, 1, 30 + i, MPI_COMM_WORLD));
            matrix_sent(1, 30 + i, (size_t)(6 + i) * sizeof(int));
        }
    } else {
        for (int i = 0; i < 4; i++)
            CALL(Irecv, (in[i], 10, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]));
        for (int i = 3; i >= 0; i--)
            CALL(Wait, (&requests[i], MPI_STATUS_IGNORE));
        for (int i = 0; i < 4; i++)
            matrix_check(in[i], 6 + i, 30 + i, "a wildcard");
    }
}

/* Sends to itself, with the datatype freed before the completion. */
static void to_itself(void)
{
    int out[10], in[10];
    MPI_Request requests[2];
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    matrix_fill(out, 10, 4);
    CALL(Irecv, (in, 5, pair, matrix_rank, 40, MPI_COMM_WORLD, &requests[0]));
    CALL(Isend, (out, 5, pair, matrix_rank, 40, MPI_COMM_WORLD, &requests[1]));
    MPI_Type_free(&pair);
    CALL(Waitall, (2, requests, MPI_STATUSES_IGNORE));
    matrix_check(in, 10, 4, "a message to itself");
    matrix_sent(matrix_rank, 40, 40);
}

#ifdef MATRIX_HAS_ISENDRECV
/* Uses neither MPI_PROC_NULL nor wildcards: MPICH 4.0.2's MPI_Isendrecv ends in a segmentation fault with the one, and
 * leaves the status all zero, so that nobody knows the source, with the other. */
static void nonblocking_both_ways(void)
{
    int out[10], in[2][10], o = matrix_other;
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Request requests[2];
    matrix_fill(out, 10, 5);
    matrix_fill(in[1], 10, 6);
    CALL(Isendrecv, (out, 10, MPI_INT, o, 41, in[0], 10, MPI_INT, o, 41, w, &requests[0]));
    CALL(Wait, (&requests[0], MPI_STATUS_IGNORE));
    CALL(Isendrecv_replace, (in[1], 9, MPI_INT, o, 42, o, 42, w, &requests[1]));
    CALL(Wait, (&requests[1], MPI_STATUS_IGNORE));
    matrix_check(in[0], 10, 5, "Isendrecv");
    matrix_check(in[1], 9, 6, "Isendrecv_replace");
    matrix_sent(o, 41, 40);
    matrix_sent(o, 42, 36);
}
#endif

void matrix_nonblocking(void)
{
    nonblocking_modes();
    wildcards();
    to_itself();
#ifdef MATRIX_HAS_ISENDRECV
    nonblocking_both_ways();
#endif
}

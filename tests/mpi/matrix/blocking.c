/* Calls the blocking modes, Sendrecv and Sendrecv_replace: by ranks, wildcards, derived datatypes, to nobody and to
 * itself. */
#include "tests/mpi/matrix/matrix.h"

#include <stdlib.h>

static void modes(void)
{
    int out[100], in[100];
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Status status;
    if (matrix_rank == 0) {
        void *room = malloc(MPI_BSEND_OVERHEAD + sizeof out);
        int bytes;
        MPI_Buffer_attach(room, MPI_BSEND_OVERHEAD + (int)sizeof out);
        matrix_fill(out, 100, 1);
        for (int i = 0; i < 3; i++) {
            CALL(Send, (out, 10 + i, MPI_INT, 1, 1, w));
            matrix_sent(1, 1, (10 + (size_t)i) * sizeof(int));
        }
        CALL(Bsend, (out, 20, MPI_INT, 1, 2, w));
        CALL(Ssend, (out, 30, MPI_INT, 1, 3, w));
        CALL(Recv, (in, 0, MPI_INT, 1, 4, w, MPI_STATUS_IGNORE)); /* the receive of tag 4 is posted */
        CALL(Rsend, (out, 40, MPI_INT, 1, 4, w));
        CALL(Send, (NULL, 0, MPI_INT, 1, 5, w));
        CALL(Send, (out, 5, MPI_INT, MPI_PROC_NULL, 6, w));
        matrix_sent(1, 2, 80);
        matrix_sent(1, 3, 120);
        matrix_sent(1, 4, 160);
        matrix_sent(1, 5, 0);
        MPI_Buffer_detach(&room, &bytes);
        free(room);
    } else {
        MPI_Request ready;
        CALL(Recv, (in, 100, MPI_INT, 0, 1, w, &status));
        matrix_check(in, 10, 1, "Send");
        CALL(Recv, (in, 100, MPI_INT, MPI_ANY_SOURCE, 1, w, MPI_STATUS_IGNORE));
        matrix_check(in, 11, 1, "Send to a wildcard");
        CALL(Recv, (in, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, w, &status));
        matrix_check(in, 12, 1, "Send to two wildcards");
        matrix_must(status.MPI_SOURCE == 0 && status.MPI_TAG == 1, "status of a wildcard");
        CALL(Recv, (in, 20, MPI_INT, 0, 2, w, MPI_STATUS_IGNORE));
        matrix_check(in, 20, 1, "Bsend");
        CALL(Recv, (in, 30, MPI_INT, 0, MPI_ANY_TAG, w, MPI_STATUS_IGNORE));
        matrix_check(in, 30, 1, "Ssend");
        CALL(Irecv, (in, 40, MPI_INT, 0, 4, w, &ready));
        CALL(Send, (NULL, 0, MPI_INT, 0, 4, w));
        matrix_sent(0, 4, 0);
        CALL(Wait, (&ready, MPI_STATUS_IGNORE));
        matrix_check(in, 40, 1, "Rsend");
        CALL(Recv, (NULL, 0, MPI_INT, 0, 5, w, MPI_STATUS_IGNORE));
        CALL(Recv, (in, 5, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, w, &status));
        matrix_must(status.MPI_SOURCE == MPI_PROC_NULL, "status of MPI_PROC_NULL");
    }
}

/* Sends every third of 60 integers, in a type that is freed at once. */
static void derived(void)
{
    int values[60], in[20];
    MPI_Datatype strided;
    MPI_Type_vector(20, 1, 3, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    if (matrix_rank == 0) {
        for (int i = 0; i < 60; i++)
            values[i] = i % 3 == 0 ? 7000 + i / 3 : -1;
        CALL(Send, (values, 1, strided, 1, 10, MPI_COMM_WORLD));
        matrix_sent(1, 10, 80);
    } else {
        CALL(Recv, (in, 20, MPI_INT, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        matrix_check(in, 20, 7, "a derived datatype");
    }
    MPI_Type_free(&strided);
}

static void both_ways(void)
{
    int out[10], in[20], o = matrix_other;
    MPI_Comm w = MPI_COMM_WORLD;
    matrix_fill(out, 10, 2);
    CALL(Sendrecv, (out, 10, MPI_INT, o, 11, in, 20, MPI_INT, o, 11, w, MPI_STATUS_IGNORE));
    matrix_check(in, 10, 2, "Sendrecv");
    CALL(Sendrecv, (out, 9, MPI_INT, o, 12, in, 20, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, w, MPI_STATUS_IGNORE));
    matrix_check(in, 9, 2, "Sendrecv with wildcards");
    CALL(Sendrecv_replace, (out, 8, MPI_INT, o, 13, o, 13, w, MPI_STATUS_IGNORE));
    matrix_check(out, 8, 2, "Sendrecv_replace");
    CALL(Sendrecv, (out, 1, MPI_INT, MPI_PROC_NULL, 14, in, 1, MPI_INT, MPI_PROC_NULL, 14, w, MPI_STATUS_IGNORE));
    CALL(Sendrecv, (out, 7, MPI_INT, matrix_rank, 15, in, 7, MPI_INT, matrix_rank, 15, w, MPI_STATUS_IGNORE));
    matrix_check(in, 7, 2, "Sendrecv to itself");
    matrix_sent(o, 11, 40);
    matrix_sent(o, 12, 36);
    matrix_sent(o, 13, 32);
    matrix_sent(matrix_rank, 15, 28);
}

void matrix_blocking(void)
{
    modes();
    derived();
    both_ways();
}

/* Calls the functions with large counts (_c), where the MPI has them. */
#include "tests/mpi/matrix/matrix.h"

#include <stdlib.h>

#ifdef MATRIX_HAS_LARGE

static void sender(int *out, int *in)
{
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Request requests[8];
    int go, n = 0;
    CALL(Send_c, (out, 1, MPI_INT, 1, 500, w));
    CALL(Bsend_c, (out, 2, MPI_INT, 1, 501, w));
    CALL(Ssend_c, (out, 3, MPI_INT, 1, 502, w));
    CALL(Recv_c, (&go, 1, MPI_INT, 1, 503, w, MPI_STATUS_IGNORE));
    CALL(Rsend_c, (out, 4, MPI_INT, 1, 503, w));
    CALL(Isend_c, (out, 5, MPI_INT, 1, 504, w, &requests[n++]));
    CALL(Ibsend_c, (out, 6, MPI_INT, 1, 505, w, &requests[n++]));
    CALL(Issend_c, (out, 7, MPI_INT, 1, 506, w, &requests[n++]));
    CALL(Irsend_c, (out, 8, MPI_INT, 1, 507, w, &requests[n++]));
    CALL(Waitall, (n, requests, MPI_STATUSES_IGNORE));
    CALL(Send_init_c, (out, 9, MPI_INT, 1, 508, w, &requests[0]));
    CALL(Bsend_init_c, (out, 10, MPI_INT, 1, 509, w, &requests[1]));
    CALL(Ssend_init_c, (out, 11, MPI_INT, 1, 510, w, &requests[2]));
    CALL(Rsend_init_c, (out, 12, MPI_INT, 1, 511, w, &requests[3]));
    CALL(Startall, (4, requests));
    CALL(Waitall, (4, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 4; i++)
        CALL(Request_free, (&requests[i]));
    CALL(Send_c, (out, 13, MPI_INT, 1, 512, w));
    CALL(Send_c, (out, 14, MPI_INT, 1, 513, w));
    for (int i = 0; i < 14; i++)
        matrix_sent(1, 500 + i, (size_t)(i + 1) * sizeof(int));
    (void)in;
}

static void receiver(int *in)
{
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Request requests[12];
    MPI_Message message;
    for (int i = 0; i < 3; i++) {
        CALL(Recv_c, (in, 20, MPI_INT, 0, 500 + i, w, MPI_STATUS_IGNORE));
        matrix_check(in, i + 1, 9, "Recv_c");
    }
    for (int i = 3; i < 11; i++)
        CALL(Irecv_c, (in + 20 * i, 20, MPI_INT, 0, 500 + i, w, &requests[i]));
    CALL(Recv_init_c, (in + 20 * 11, 20, MPI_INT, 0, 511, w, &requests[11]));
    CALL(Start, (&requests[11]));
    CALL(Send_c, (in, 1, MPI_INT, 0, 503, w));
    matrix_sent(0, 503, 4);
    CALL(Waitall, (9, requests + 3, MPI_STATUSES_IGNORE));
    CALL(Request_free, (&requests[11]));
    for (int i = 3; i < 12; i++)
        matrix_check(in + 20 * i, i + 1, 9, "Irecv_c, Recv_init_c");
    CALL(Mprobe, (0, 512, w, &message, MPI_STATUS_IGNORE));
    CALL(Mrecv_c, (in, 20, MPI_INT, &message, MPI_STATUS_IGNORE));
    matrix_check(in, 13, 9, "Mrecv_c");
    CALL(Mprobe, (0, 513, w, &message, MPI_STATUS_IGNORE));
    CALL(Imrecv_c, (in, 20, MPI_INT, &message, &requests[0]));
    CALL(Wait, (&requests[0], MPI_STATUS_IGNORE));
    matrix_check(in, 14, 9, "Imrecv_c");
}

static void large_both_ways(int *out, int *in)
{
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Request request;
    int o = matrix_other;
    CALL(Sendrecv_c, (out, 15, MPI_INT, o, 520, in, 20, MPI_INT, o, 520, w, MPI_STATUS_IGNORE));
    matrix_check(in, 15, 9, "Sendrecv_c");
    CALL(Sendrecv_replace_c, (in, 14, MPI_INT, o, 521, o, 521, w, MPI_STATUS_IGNORE));
    matrix_check(in, 14, 9, "Sendrecv_replace_c");
    CALL(Isendrecv_c, (out, 13, MPI_INT, o, 522, in, 20, MPI_INT, o, 522, w, &request));
    CALL(Wait, (&request, MPI_STATUS_IGNORE));
    matrix_check(in, 13, 9, "Isendrecv_c");
    CALL(Isendrecv_replace_c, (in, 12, MPI_INT, o, 523, o, 523, w, &request));
    CALL(Wait, (&request, MPI_STATUS_IGNORE));
    matrix_check(in, 12, 9, "Isendrecv_replace_c");
    for (int i = 0; i < 4; i++)
        matrix_sent(o, 520 + i, (size_t)(15 - i) * sizeof(int));
}

void matrix_large(void)
{
    int out[20], in[20 * 12], bytes;
    size_t room_bytes = 4 * (MPI_BSEND_OVERHEAD + 20 * sizeof(int));
    void *room = malloc(room_bytes);
    MPI_Buffer_attach(room, (int)room_bytes);
    matrix_fill(out, 20, 9);
    if (matrix_rank == 0)
        sender(out, in);
    else
        receiver(in);
    large_both_ways(out, in);
    MPI_Buffer_detach(&room, &bytes);
    free(room);
}

#else

void matrix_large(void)
{
}

#endif

/* Receives that are cancelled take no message; one that was cancelled too late does. */
#include "tests/mpi/matrix/matrix.h"

void matrix_cancel(void)
{
    int in[10], out[10], cancelled;
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Request request, kept;
    MPI_Status status;
    if (matrix_rank == 0) {
        matrix_fill(out, 10, 8);
        CALL(Recv, (NULL, 0, MPI_INT, 1, 400, w, MPI_STATUS_IGNORE));
        CALL(Send, (out, 10, MPI_INT, 1, 401, w));
        matrix_sent(1, 401, 40);
        return;
    }
    CALL(Irecv, (in, 10, MPI_INT, MPI_ANY_SOURCE, 401, w, &request));
    CALL(Irecv, (in, 10, MPI_INT, 0, 401, w, &kept));
    CALL(Cancel, (&request));
    CALL(Wait, (&request, &status));
    MPI_Test_cancelled(&status, &cancelled);
    matrix_must(cancelled, "a receive that nobody sent to is cancelled");
    CALL(Send, (NULL, 0, MPI_INT, 0, 400, w));
    matrix_sent(0, 400, 0);
    CALL(Wait, (&kept, MPI_STATUS_IGNORE));
    matrix_check(in, 10, 8, "the receive behind the cancelled one");
    CALL(Recv_init, (in, 10, MPI_INT, 0, 402, w, &request));
    CALL(Start, (&request));
    CALL(Cancel, (&request));
    CALL(Wait, (&request, MPI_STATUS_IGNORE));
    CALL(Request_free, (&request));
}

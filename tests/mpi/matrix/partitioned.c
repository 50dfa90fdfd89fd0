/* Makes partitioned operations, where the MPI has them: two starts of two requests on one envelope, made ready in each
 * of the three ways; requests are paired by the order of their creation. */
#include "tests/mpi/matrix/matrix.h"

#ifdef MATRIX_HAS_PARTITIONED

#define PARTS 8
#define COUNT 5 /* elements of a partition */

static void ready(MPI_Request first, MPI_Request second)
{
    int list[] = {6, 0, 3};
    for (int i = PARTS - 1; i >= 0; i--)
        CALL(Pready, (i, second));
    CALL(Pready_range, (1, 2, first));
    CALL(Pready_list, (3, list, first));
    CALL(Pready_range, (4, 5, first));
    CALL(Pready, (7, first));
}

void matrix_partitioned(void)
{
    int values[2][PARTS * COUNT], flag;
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Info none = MPI_INFO_NULL;
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++) {
        if (matrix_rank == 0)
            CALL(Psend_init, (values[i], PARTS, COUNT, MPI_INT, 1, 600, w, none, &requests[i]));
        else
            CALL(Precv_init, (values[i], PARTS, COUNT, MPI_INT, 0, 600, w, none, &requests[i]));
    }
    for (int step = 0; step < 2; step++) {
        for (int i = 0; matrix_rank == 0 && i < 2; i++)
            matrix_fill(values[i], PARTS * COUNT, 60 + 2 * step + i);
#ifdef OPEN_MPI /* 5.0.7 starts but the first of several */
        CALL(Start, (&requests[0]));
        CALL(Start, (&requests[1]));
#else
        CALL(Startall, (2, requests));
#endif
        if (matrix_rank == 0) {
            ready(requests[0], requests[1]);
            matrix_sent(1, 600, PARTS * COUNT * sizeof(int));
            matrix_sent(1, 600, PARTS * COUNT * sizeof(int));
        } else {
            do
                TRY(Parrived, (requests[0], 3, &flag));
            while (!flag);
            matrix_found();
        }
        CALL(Waitall, (2, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; matrix_rank == 1 && i < 2; i++)
            matrix_check(values[i], PARTS * COUNT, 60 + 2 * step + i, "a partitioned message");
    }
    for (int i = 0; i < 2; i++)
        CALL(Request_free, (&requests[i]));
}

#else

void matrix_partitioned(void)
{
}

#endif

/* Makes persistent requests of every mode, started one by one and together, completed by each kind of call while others
 * are inactive, freed while inactive. */
#include "tests/mpi/matrix/matrix.h"

#include <stdlib.h>

#define MODES 4

static void notes(int base, int starts)
{
    for (int i = 0; matrix_rank == 0 && i < MODES; i++)
        for (int k = 0; k < starts; k++)
            matrix_sent(1, base + i, (size_t)(5 + i) * sizeof(int));
}

static void make(int base, int values[MODES][10], MPI_Request requests[MODES])
{
    MPI_Comm w = MPI_COMM_WORLD;
    if (matrix_rank == 0) {
        CALL(Send_init, (values[0], 5, MPI_INT, 1, base, w, &requests[0]));
        CALL(Bsend_init, (values[1], 6, MPI_INT, 1, base + 1, w, &requests[1]));
        CALL(Ssend_init, (values[2], 7, MPI_INT, 1, base + 2, w, &requests[2]));
        CALL(Rsend_init, (values[3], 8, MPI_INT, 1, base + 3, w, &requests[3]));
    } else {
        for (int i = 0; i < MODES; i++) {
            int source = i % 2 ? MPI_ANY_SOURCE : 0;
            CALL(Recv_init, (values[i], 10, MPI_INT, source, base + i, w, &requests[i]));
        }
    }
}

/* Tells rank 0 that the receives are posted, as the ready mode wants it. */
static void posted(void)
{
    if (matrix_rank == 0) {
        CALL(Recv, (NULL, 0, MPI_INT, 1, 200, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
        CALL(Send, (NULL, 0, MPI_INT, 0, 200, MPI_COMM_WORLD));
        matrix_sent(0, 200, 0);
    }
}

static void check_modes(int seed, int values[MODES][10])
{
    for (int i = 0; matrix_rank == 1 && i < MODES; i++)
        matrix_check(values[i], 5 + i, seed + i, "a persistent request");
}

static void fill(int seed, int values[MODES][10])
{
    for (int i = 0; matrix_rank == 0 && i < MODES; i++)
        matrix_fill(values[i], 10, seed + i);
}

static void start_one_by_one(int seed, int values[MODES][10], MPI_Request requests[MODES])
{
    fill(seed, values);
    if (matrix_rank == 0)
        posted();
    for (int i = 0; i < MODES; i++)
        CALL(Start, (&requests[i]));
    if (matrix_rank == 1)
        posted();
}

static void start_together(int seed, int values[MODES][10], MPI_Request requests[MODES])
{
    fill(seed, values);
    if (matrix_rank == 0)
        posted();
    CALL(Startall, (MODES, requests));
    if (matrix_rank == 1)
        posted();
}

static void complete_some(MPI_Request requests[MODES])
{
    int indices[MODES], n_done;
    for (int done = 0; done < MODES; done += n_done)
        CALL(Waitsome, (MODES, requests, &n_done, indices, MPI_STATUSES_IGNORE));
    CALL(Waitsome, (MODES, requests, &n_done, indices, MPI_STATUSES_IGNORE));
    matrix_must(n_done == MPI_UNDEFINED, "Waitsome of inactive requests");
}

static void complete_by_tests(MPI_Request requests[MODES])
{
    int flag, index;
    for (int done = 0; done < 2;) {
        TRY(Testany, (MODES, requests, &index, &flag, MPI_STATUS_IGNORE));
        if (flag) {
            matrix_found();
            done++;
        }
    }
    do
        TRY(Testall, (MODES, requests, &flag, MPI_STATUSES_IGNORE));
    while (!flag);
    matrix_found();
}

void matrix_persistent(void)
{
    int values[MODES][10], index, bytes;
    size_t room_bytes = 4 * (MPI_BSEND_OVERHEAD + 6 * sizeof(int));
    void *room = malloc(room_bytes);
    MPI_Request requests[MODES];
    MPI_Buffer_attach(room, (int)room_bytes);
    make(210, values, requests);
    start_one_by_one(21, values, requests);
    for (int i = 0; i < MODES; i++)
        CALL(Wait, (&requests[i], MPI_STATUS_IGNORE));
    CALL(Wait, (&requests[0], MPI_STATUS_IGNORE)); /* inactive */
    check_modes(21, values);
    start_together(31, values, requests);
    CALL(Waitall, (MODES, requests, MPI_STATUSES_IGNORE));
    CALL(Waitall, (MODES, requests, MPI_STATUSES_IGNORE)); /* inactive */
    check_modes(31, values);
    start_together(41, values, requests);
    for (int i = 0; i < MODES; i++)
        CALL(Waitany, (MODES, requests, &index, MPI_STATUS_IGNORE));
    check_modes(41, values);
    start_one_by_one(51, values, requests);
    complete_some(requests);
    check_modes(51, values);
    start_together(61, values, requests);
    complete_by_tests(requests);
    check_modes(61, values);
    for (int i = 0; i < MODES; i++)
        CALL(Request_free, (&requests[i]));
    notes(210, 5);
    MPI_Buffer_detach(&room, &bytes);
    free(room);
}

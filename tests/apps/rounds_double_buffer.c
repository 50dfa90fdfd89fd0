/* A ring halo has two sets of receive buffers: the receives of the next step are posted before those of this step are
 * waited for, so that from the first step to the last no rank is ever without a pending receive. There is no
 * collective.
 *
 * A reader draws one round a step, `steps` rounds of one kind: the sends of the step and the receives that complete
 * with them. The receive that is already posted for the next step is background and holds no round open. */
#include "tests/apps/rounds.h"

#include "tests/apps/app.h"

#include <mpi.h>

#define EXCHANGE_BYTES 1600

static void post_receives(char in[2][EXCHANGE_BYTES], const int neighbours[2], MPI_Request requests[2])
{
    for (int side = 0; side < 2; side++)
        MPI_Irecv(in[side], EXCHANGE_BYTES, MPI_CHAR, neighbours[side], 1 - side, MPI_COMM_WORLD, &requests[side]);
}

void rounds_double_buffer(int steps, struct traffic *traffic)
{
    int size = app_size();
    const int neighbours[2] = {(app_rank() + size - 1) % size, (app_rank() + 1) % size};
    static char in[2][2][EXCHANGE_BYTES];
    static char out[2][EXCHANGE_BYTES];
    MPI_Request receives[2][2];
    MPI_Request sends[2];
    post_receives(in[0], neighbours, receives[0]);
    for (int step = 0; step < steps; step++) {
        if (step + 1 < steps)
            post_receives(in[(step + 1) % 2], neighbours, receives[(step + 1) % 2]);
        for (int side = 0; side < 2; side++) {
            MPI_Isend(out[side], EXCHANGE_BYTES, MPI_CHAR, neighbours[side], side, MPI_COMM_WORLD, &sends[side]);
            traffic_sent(traffic, neighbours[side], EXCHANGE_BYTES);
        }
        MPI_Waitall(2, receives[step % 2], MPI_STATUSES_IGNORE);
        MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    }
}

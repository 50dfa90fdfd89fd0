/* `steps` sweeps go over a grid of ranks from one corner to the other: each rank receives from its west and north
 * neighbours, then sends on to east and south, all by blocking calls; a sum over all ranks follows each sweep.
 *
 * A reader draws this: the ranks depend on each other along the sweep, yet each message is sent and received for
 * itself, as a rank is in MPI for its neighbour's message only until that has come. The sum ends a sweep: nothing of
 * one reaches into the next, and all sweeps look alike, so each kind comes `steps` times (or a multiple, where two
 * pairs of ranks cannot be told apart, which is not so here). */
#include "tests/apps/rounds.h"

#include "tests/apps/app.h"

#include <mpi.h>

#define EDGE_BYTES 800

void rounds_wavefront(int steps, struct traffic *traffic)
{
    int rank = app_rank();
    int dims[2] = {0, 0};
    MPI_Dims_create(app_size(), 2, dims);
    int row = rank / dims[1];
    int column = rank % dims[1];
    int west = column > 0 ? rank - 1 : MPI_PROC_NULL;
    int north = row > 0 ? rank - dims[1] : MPI_PROC_NULL;
    int onward[2] = {column + 1 < dims[1] ? rank + 1 : MPI_PROC_NULL,
                     row + 1 < dims[0] ? rank + dims[1] : MPI_PROC_NULL};
    char out[EDGE_BYTES] = {0};
    char in[EDGE_BYTES];
    for (int step = 0; step < steps; step++) {
        MPI_Recv(in, EDGE_BYTES, MPI_CHAR, west, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(in, EDGE_BYTES, MPI_CHAR, north, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 2; i++) {
            MPI_Send(out, EDGE_BYTES, MPI_CHAR, onward[i], 1, MPI_COMM_WORLD);
            if (onward[i] != MPI_PROC_NULL)
                traffic_sent(traffic, onward[i], EDGE_BYTES);
        }
        double sum = rank;
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

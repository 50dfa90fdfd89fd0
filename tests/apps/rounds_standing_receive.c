/* A ring halo makes a sum over all ranks after each step, while every rank keeps a receive from MPI_ANY_SOURCE posted
 * for control messages all the time. Each fifth step rank 0 sends a control message to the last rank, which posts its
 * receive anew. At the end each rank sends itself a last control message.
 *
 * A reader draws one round a step. The standing receives are background: they hold no round open, and a control message
 * belongs to the round of the step in which it was received. There are two kinds of steps: with and without a control
 * message; the messages to oneself form no round. So there are `steps` rounds of two kinds. */
#include "tests/apps/rounds.h"

#include "tests/apps/app.h"

#include <mpi.h>

#define HALO_BYTES 1200
#define HALO       1
#define CONTROL    2

static void step_halo(struct traffic *traffic)
{
    static char in[2][HALO_BYTES];
    static char out[2][HALO_BYTES];
    int size = app_size();
    const int neighbours[2] = {(app_rank() + size - 1) % size, (app_rank() + 1) % size};
    MPI_Request requests[4];
    for (int side = 0; side < 2; side++)
        MPI_Irecv(in[side], HALO_BYTES, MPI_CHAR, neighbours[side], HALO, MPI_COMM_WORLD, &requests[side]);
    for (int side = 0; side < 2; side++) {
        MPI_Isend(out[side], HALO_BYTES, MPI_CHAR, neighbours[side], HALO, MPI_COMM_WORLD, &requests[2 + side]);
        traffic_sent(traffic, neighbours[side], HALO_BYTES);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void post_standing(int *command, MPI_Request *standing)
{
    MPI_Irecv(command, 1, MPI_INT, MPI_ANY_SOURCE, CONTROL, MPI_COMM_WORLD, standing);
}

static void send_command(int to, struct traffic *traffic)
{
    int command = 1;
    MPI_Send(&command, 1, MPI_INT, to, CONTROL, MPI_COMM_WORLD);
    traffic_sent(traffic, to, sizeof(command));
}

void rounds_standing_receive(int steps, struct traffic *traffic)
{
    int last = app_size() - 1;
    int command = 0;
    MPI_Request standing;
    post_standing(&command, &standing);
    for (int step = 0; step < steps; step++) {
        int commanded = step % 5 == 2;
        if (commanded && app_rank() == 0)
            send_command(last, traffic);
        step_halo(traffic);
        if (commanded && app_rank() == last) {
            MPI_Wait(&standing, MPI_STATUS_IGNORE);
            post_standing(&command, &standing);
        }
        double sum = app_rank();
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    send_command(app_rank(), traffic);
    MPI_Wait(&standing, MPI_STATUS_IGNORE);
}

/* asides: messages that a rank sends itself, exchanges that wait for each other, and a rank that sleeps between polls.
 *
 *     asides FILE
 *
 * Each rank sends itself messages in many ways before it posts their receives, where its MPI buffers them. Ranks 0
 * and 1 exchange 200 messages of 8 bytes by MPI_Sendrecv. Then rank 0 computes for 0.3 s, while rank 1 asks for its
 * message with MPI_Iprobe and sleeps 0.5 ms each time. FILE has what they sent. */
#include "tests/apps/app.h"
#include "tests/apps/witness.h"

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { BYTES = 64, EXCHANGES = 200 };

static char out[BYTES], in[BYTES];
static struct traffic traffic;

static void receive(MPI_Comm comm, int rank)
{
    MPI_Recv(in, BYTES, MPI_CHAR, rank, 0, comm, MPI_STATUS_IGNORE);
    traffic_sent(&traffic, app_rank(), BYTES);
}

static void send_buffered(int rank)
{
    static char room[BYTES + MPI_BSEND_OVERHEAD];
    void *was;
    int bytes;
    MPI_Buffer_attach(room, (int)sizeof room);
    MPI_Bsend(out, BYTES, MPI_CHAR, rank, 0, MPI_COMM_WORLD);
    receive(MPI_COMM_WORLD, rank);
    MPI_Buffer_detach(&was, &bytes);
}

#ifdef OPEN_MPI /* with MPICH these sends wait for their receives, and so end never */
static void send_started(int rank)
{
    MPI_Request request;
    MPI_Send_init(out, BYTES, MPI_CHAR, rank, 0, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        receive(MPI_COMM_WORLD, rank);
    }
    MPI_Request_free(&request);
}

static void send_eagerly(void)
{
    int rank = app_rank(), there = 0;
    MPI_Request request;
    MPI_Message message;
    MPI_Send(out, BYTES, MPI_CHAR, rank, 0, MPI_COMM_WORLD);
    receive(MPI_COMM_WORLD, rank);
    MPI_Send(out, BYTES, MPI_CHAR, 0, 0, MPI_COMM_SELF);
    receive(MPI_COMM_SELF, 0);
    MPI_Send(out, BYTES, MPI_CHAR, rank, 0, MPI_COMM_WORLD);
    MPI_Send(out, BYTES, MPI_CHAR, rank, 0, MPI_COMM_WORLD);
    receive(MPI_COMM_WORLD, rank);
    receive(MPI_COMM_WORLD, MPI_ANY_SOURCE);
    MPI_Isend(out, BYTES, MPI_CHAR, rank, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    receive(MPI_COMM_WORLD, rank);
    MPI_Send(out, BYTES, MPI_CHAR, rank, 0, MPI_COMM_WORLD);
    while (!there)
        MPI_Iprobe(rank, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    receive(MPI_COMM_WORLD, rank);
    MPI_Send(out, BYTES, MPI_CHAR, rank, 0, MPI_COMM_WORLD);
    MPI_Mprobe(rank, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, BYTES, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    traffic_sent(&traffic, rank, BYTES);
    send_started(rank);
}
#else
static void send_eagerly(void)
{
}
#endif

static void exchange(void)
{
    int other = 1 - app_rank();
    for (int i = 0; i < EXCHANGES; i++) {
        MPI_Sendrecv(out, 8, MPI_CHAR, other, 1, in, 8, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        traffic_sent(&traffic, other, 8);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void compute(double s)
{
    volatile double sum = 0;
    for (double until = seconds() + s; seconds() < until;)
        for (int i = 0; i < 1000; i++)
            sum += i;
    if (sum < 0)
        app_fail("a sum of positive numbers is negative");
}

static void poll(void)
{
    const struct timespec nap = {.tv_nsec = 500000};
    int there = 0;
    for (;;) {
        MPI_Iprobe(0, 2, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        if (there)
            break;
        nanosleep(&nap, NULL);
    }
    MPI_Recv(in, BYTES, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc != 2 || app_size() < 2)
        app_fail("usage: mpiexec -n 2 asides TRAFFIC.csv");
    witness_init(&traffic);
    send_eagerly();
    send_buffered(app_rank());
    if (app_rank() < 2)
        exchange();
    if (app_rank() == 0) {
        compute(0.3);
        MPI_Send(out, BYTES, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
        traffic_sent(&traffic, 1, BYTES);
    } else if (app_rank() == 1) {
        poll();
    }
    traffic_write(&traffic, argv[1]);
    witness_release(&traffic);
    MPI_Finalize();
    return EXIT_SUCCESS;
}

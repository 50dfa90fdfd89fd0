/* Has cases of what is begun by one call and started or completed by another: communicators made in the background,
 * persistent collectives, partitioned messages. */
#include "tests/mpi/recorder/recorder_expect.h"

enum { PARTITIONED = 512, PARTITIONS = 4, CYCLES = 2 };

static int in[64], out[64];

/* Exchanges, and tells the communicator's index in this process. */
static void exchange(MPI_Comm comm, int index, int peer, int tag)
{
    MPI_Sendrecv(in, 1, MPI_INT, peer, tag, out, 1, MPI_INT, peer, tag, comm, MPI_STATUS_IGNORE);
    expect("Sendrecv", "send", index, peer, tag, 4, 1, BLOCKING);
    expect("Sendrecv", "receive", index, peer, tag, 4, 1, BLOCKING | SECOND);
}

void case_idup(int rank)
{
    int peer = 1 - rank, flag = 0, index;
    MPI_Comm first, second, both[2], parent;
    MPI_Request request, requests[2];
    MPI_Comm_idup(MPI_COMM_WORLD, &first, &request);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    exchange(second, 2, peer, 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    exchange(first, 3, peer, 2);
    MPI_Comm_dup(first, &parent);
    MPI_Comm_idup(parent, &both[0], &requests[0]);
    MPI_Comm_idup(MPI_COMM_WORLD, &both[1], &requests[1]);
    while (!flag)
        MPI_Testany(1, requests, &index, &flag, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&parent);
    exchange(both[0], 5, peer, 3);
    exchange(both[1], 6, peer, 4);
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
    MPI_Comm_free(&both[0]);
    MPI_Comm_free(&both[1]);
}

#ifdef HAS_MPI_Barrier_init

/* Their order and bytes are in recorder.py. MPICH 4.0.2 hangs in MPI_Wait on one that was never started. */
void case_started_collectives(int rank)
{
    MPI_Request requests[3], bcast, message;
    MPI_Comm ring;
    int dims[1] = {2}, periods[1] = {1}, index;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Allreduce_init(in, out, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Neighbor_alltoall_init(in + 8, 2, MPI_INT, out + 8, 2, MPI_INT, ring, MPI_INFO_NULL, &requests[2]);
    MPI_Bcast_init(in + 32, 5, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &bcast);
    for (int i = 0; i < CYCLES; i++) {
        MPI_Start(&bcast);
        MPI_Wait(&bcast, MPI_STATUS_IGNORE);
        MPI_Startall(3, requests);
        MPI_Irecv(out + 40, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &message);
        expect("Irecv", "receive", 0, 1 - rank, 1, 4, 1, 0);
        MPI_Send(in, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
        expect("Send", "send", 0, 1 - rank, 1, 4, 1, BLOCKING);
        MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        MPI_Wait(&message, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 3; i++)
        MPI_Request_free(&requests[i]);
    MPI_Request_free(&bcast);
    MPI_Comm_free(&ring);
}

#else

void case_started_collectives(int rank)
{
    (void)rank;
    expect_skip("this MPI has no persistent collectives");
}

#endif

#ifdef HAS_MPI_Psend_init

static void send_partitions(MPI_Request *request)
{
    int list[1] = {3};
    MPI_Start(request);
    expect("Start", "send", 0, 1, 6, PARTITIONS * 3 * 4, 1, STARTED | PARTITIONED);
    MPI_Pready(1, *request);
    MPI_Pready_list(1, list, *request);
    MPI_Pready(0, *request);
    MPI_Pready_range(2, 2, *request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void receive_partitions(MPI_Request *request)
{
    int flag;
    MPI_Start(request);
    expect("Start", "receive", 0, 0, 6, PARTITIONS * 3 * 4, 1, STARTED | PARTITIONED);
    for (int i = 0; i < PARTITIONS; i++)
        do
            MPI_Parrived(*request, i, &flag);
        while (!flag);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

void case_partitioned(int rank)
{
    MPI_Request request;
    if (rank == 0)
        MPI_Psend_init(in, PARTITIONS, 3, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(out, PARTITIONS, 3, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int i = 0; i < CYCLES; i++)
        (rank == 0 ? send_partitions : receive_partitions)(&request);
    MPI_Request_free(&request);
}

#else

void case_partitioned(int rank)
{
    (void)rank;
    expect_skip("this MPI has no partitioned communication");
}

#endif

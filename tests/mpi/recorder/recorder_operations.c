/* Has cases of calls that are no plain messages: probes, nonblocking collectives, one-sided communication, and what the
 * MPI library sends by itself. */
#include <string.h>

#include "tests/mpi/recorder/recorder_expect.h"

enum { MATCHED = 1024 };

static char operations_room[1 << 16], more_room[1 << 16];

/* Sends three messages of one envelope, of 8, 16 and 24 bytes. */
static void send_three(int peer, int tag)
{
    for (int i = 1; i <= 3; i++) {
        MPI_Send(operations_room, 8 * i, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
        expect("Send", "send", 0, peer, tag, 8 * i, 1, BLOCKING);
    }
}

static int received_bytes(const MPI_Status *status)
{
    int bytes = -1;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    return bytes;
}

/* The probe takes the first message, though it is received last but one. */
static void receive_three(int peer, int tag)
{
    MPI_Message first, third;
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &first, MPI_STATUS_IGNORE);
    expect("Mprobe", "receive", 0, peer, tag, 100, 1, MATCHED | WILD_SOURCE);
    MPI_Recv(operations_room, 200, MPI_BYTE, peer, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    expect("Recv", "receive", 0, peer, tag, 200, 1, BLOCKING | WILD_TAG);
    REQUIRE(received_bytes(&status) == 16);
    while (!flag)
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &third, &status);
    expect("Improbe", "receive", 0, peer, tag, 300, 1, MATCHED | WILD_SOURCE | WILD_TAG);
    REQUIRE(received_bytes(&status) == 24 && status.MPI_TAG == tag);
    MPI_Mrecv(operations_room, 100, MPI_BYTE, &first, &status);
    REQUIRE(received_bytes(&status) == 8 && first == MPI_MESSAGE_NULL);
    MPI_Imrecv(operations_room, 300, MPI_BYTE, &third, &request);
    MPI_Wait(&request, &status);
    REQUIRE(received_bytes(&status) == 24 && status.MPI_SOURCE == peer);
}

/* Messages from MPI_PROC_NULL share one handle. */
static void receive_nothing(void)
{
    MPI_Message messages[2];
    MPI_Request request;
    MPI_Status status;
    MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &messages[0], MPI_STATUS_IGNORE);
    expect("Mprobe", "receive", 0, -1, 3, 10, 1, MATCHED);
    MPI_Mprobe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_SELF, &messages[1], &status);
    expect("Mprobe", "receive", 1, -1, -2, 20, 1, MATCHED | WILD_TAG);
    REQUIRE(messages[0] == MPI_MESSAGE_NO_PROC && messages[1] == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(operations_room, 10, MPI_BYTE, &messages[0], MPI_STATUS_IGNORE);
    MPI_Imrecv(operations_room, 20, MPI_BYTE, &messages[1], &request);
    MPI_Wait(&request, &status);
    REQUIRE(status.MPI_SOURCE == MPI_PROC_NULL);
}

void case_probes(int rank)
{
    int peer = 1 - rank, flag = 0;
    MPI_Status status;
    if (rank == 0)
        send_three(peer, 7);
    else
        receive_three(peer, 7);
    receive_nothing();
    for (int i = 0; i < 100; i++) {
        MPI_Iprobe(peer, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        REQUIRE(!flag);
    }
    if (rank == 0) {
        send_three(peer, 8);
    } else {
        MPI_Probe(peer, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        REQUIRE(status.MPI_TAG == 8);
        while (!flag)
            MPI_Iprobe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &flag, &status);
        receive_three(peer, 8);
    }
    MPI_Sendrecv(operations_room, 1, MPI_BYTE, peer, 9, more_room, 1, MPI_BYTE, peer, 9, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect("Sendrecv", "send", 0, peer, 9, 1, 1, BLOCKING);
    expect("Sendrecv", "receive", 0, peer, 9, 1, 1, BLOCKING | SECOND);
#ifdef HAS_MPI_Send_c
    MPI_Message message;
    MPI_Request request;
    MPI_Isend_c(operations_room, 5, MPI_BYTE, 0, 4, MPI_COMM_SELF, &request);
    expect("Isend_c", "send", 1, 0, 4, 5, 1, 0);
    MPI_Mprobe(0, 4, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
    expect("Mprobe", "receive", 1, 0, 4, 6, 1, MATCHED);
    MPI_Mrecv_c(more_room, 6, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
#endif
}

/* Their order and bytes are in recorder.py. */
void case_nonblocking(int rank)
{
    enum { N = 6 };
    MPI_Request requests[N];
    MPI_Status statuses[N];
    MPI_Comm ring;
    int index, flag = 0, counts[2] = {1, 3}, places[2] = {0, 1}, in[4] = {1, 2, 3, 4}, out[8], dims[1] = {2},
               periods[1] = {1}, sum[4], all[8], byte = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Ibcast(sum, 3, MPI_INT, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(in, out, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(operations_room, 4, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[2]);
    expect("Irecv", "receive", 0, 1 - rank, 1, 4, 1, WILD_SOURCE);
    MPI_Isend(&byte, 1, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &requests[3]);
    expect("Isend", "send", 0, 1 - rank, 1, 1, 1, 0);
    MPI_Iallgatherv(in, counts[rank], MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD, &requests[4]);
    MPI_Ireduce_scatter_block(in, more_room, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[5]);
    MPI_Waitany(N, requests, &index, MPI_STATUS_IGNORE);
    while (!flag)
        MPI_Testall(N, requests, &flag, statuses);
    for (int i = 0; i < N; i++)
        REQUIRE(requests[i] == MPI_REQUEST_NULL);
    MPI_Ialltoall(in, 2, MPI_INT, out, 2, MPI_INT, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibarrier(MPI_COMM_SELF, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    MPI_Ineighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, ring, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Ineighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, ring, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Comm_free(&ring);
}

/* Their order and bytes are in recorder.py. */
void case_rma(int rank)
{
    int peer = 1 - rank, *memory, value = 5, results[4], compare = 0, flag = 0;
    MPI_Win window, created;
    MPI_Comm other;
    MPI_Group world, others;
    MPI_Request request;
    MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Win_create(operations_room, sizeof operations_room, 1, MPI_INFO_NULL, other, &created);
    MPI_Comm_free(&other);
    memset(memory, 0, 64 * sizeof(int));
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, window);
    MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window);
    MPI_Get(results, 3, MPI_INT, peer, 8, 3, MPI_INT, window);
    MPI_Accumulate(&value, 1, MPI_INT, peer, 20, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_fence(0, window);
    REQUIRE(memory[0] == 5 && memory[20] == 5);
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, window);
    MPI_Fetch_and_op(&value, results, MPI_INT, peer, 30, MPI_SUM, window);
    MPI_Win_flush(peer, window);
    MPI_Fetch_and_op(NULL, results, MPI_INT, peer, 30, MPI_NO_OP, window);
    MPI_Win_flush_local(peer, window);
    REQUIRE(results[0] == 5);
    MPI_Compare_and_swap(&value, &compare, results, MPI_INT, peer, 31, window);
    MPI_Get_accumulate(&value, 1, MPI_INT, results, 1, MPI_INT, peer, 32, 1, MPI_INT, MPI_SUM, window);
    MPI_Rput(&value, 1, MPI_INT, peer, 33, 1, MPI_INT, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Rget(results, 4, MPI_INT, peer, 40, 4, MPI_INT, window, &request);
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    MPI_Win_unlock(peer, window);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &peer, &others);
    MPI_Win_post(others, 0, window);
    MPI_Win_start(others, 0, window);
    MPI_Put(&value, 1, MPI_INT, peer, 50, 1, MPI_INT, window);
    MPI_Win_complete(window);
    if (rank == 0)
        MPI_Win_wait(window);
    else
        for (flag = 0; !flag;)
            MPI_Win_test(window, &flag);
    REQUIRE(memory[50] == 5);
    MPI_Win_lock_all(0, created);
    MPI_Put(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, created);
    MPI_Win_unlock_all(created);
    MPI_Group_free(&world);
    MPI_Group_free(&others);
    MPI_Win_free(&created);
    MPI_Win_free(&window);
}

/* Writes interleaved blocks of all ranks, which collective output exchanges between them. */
static void write_file(int rank)
{
    enum { BLOCKS = 64, BLOCK_BYTES = 512 };
    MPI_Datatype blocks;
    MPI_File file;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Type_vector(BLOCKS, BLOCK_BYTES, 2 * BLOCK_BYTES, MPI_BYTE, &blocks);
    MPI_Type_commit(&blocks);
    REQUIRE(MPI_File_open(MPI_COMM_WORLD, "output", MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == MPI_SUCCESS);
    MPI_File_set_view(file, (MPI_Offset)rank * BLOCK_BYTES, MPI_BYTE, blocks, "native", info);
    memset(operations_room, 'a' + rank, BLOCKS * BLOCK_BYTES);
    REQUIRE(MPI_File_write_all(file, operations_room, BLOCKS * BLOCK_BYTES, MPI_BYTE, MPI_STATUS_IGNORE) ==
            MPI_SUCCESS);
    MPI_File_read_at_all(file, 0, more_room, BLOCKS * BLOCK_BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    REQUIRE(more_room[0] == 'a' + rank && more_room[BLOCKS * BLOCK_BYTES - 1] == 'a' + rank);
    MPI_File_close(&file);
    MPI_Type_free(&blocks);
    MPI_Info_free(&info);
}

/* The library's own messages are none of the program's. */
void case_internal(int rank)
{
    int dims[1] = {2}, periods[1] = {1}, counts[2] = {2, 2}, in[4] = {rank, rank, rank, rank}, out[4], total;
    MPI_Aint places[2] = {0, 8};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Comm ring;
    write_file(rank);
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    MPI_Neighbor_alltoallw(in, counts, places, types, out, counts, places, types, ring);
    REQUIRE(out[0] == 1 - rank && out[3] == 1 - rank);
    MPI_Reduce(in, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Comm_free(&ring);
}

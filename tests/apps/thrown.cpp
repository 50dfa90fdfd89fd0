/* A C++ program whose error handler throws: the exception leaves the call through MPI's frames and the recorder's, which
 * are compiled C, and is caught by the program. Exits with 1 if one was not.
 *
 * Rank 0 and 1 of two. Calls that MPI rejects have tag 1; messages too long for their receives tag 2, reported by
 * MPI_Recv and by MPI_Wait; messages behind all of these tags 1, 2 and 3.
 */
#include <mpi.h>

#include <cstdio>
#include <stdexcept>
#include <string>

static char buffer[64];
static int caught, unwound;

/* Counts that the frame was unwound, not jumped over. */
struct frame {
    ~frame()
    {
        unwound++;
    }
};

static void raise_error(MPI_Comm *, int *code, ...)
{
    throw std::runtime_error("MPI error " + std::to_string(*code));
}

template <typename call> static void expect_thrown(call made)
{
    try {
        frame here;
        made();
    } catch (const std::runtime_error &) {
        caught++;
    }
}

static void send_wrong()
{
    MPI_Request request;
    expect_thrown([] { MPI_Send(buffer, -1, MPI_BYTE, 1, 1, MPI_COMM_WORLD); });
    expect_thrown([] { MPI_Ssend(buffer, 1, MPI_BYTE, 99, 1, MPI_COMM_WORLD); });
    expect_thrown([&] { MPI_Isend(buffer, -1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request); });
    MPI_Send(buffer, 48, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
    MPI_Send(buffer, 49, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
}

static void receive_wrong()
{
    MPI_Request request;
    expect_thrown([&] { MPI_Irecv(buffer, -1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request); });
    expect_thrown([] { MPI_Recv(buffer, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
    MPI_Irecv(buffer, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &request);
    expect_thrown([&] { MPI_Wait(&request, MPI_STATUS_IGNORE); });
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_errhandler(raise_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (rank == 0)
        send_wrong();
    else
        receive_wrong();
    expect_thrown([] { MPI_Bcast(buffer, 1, MPI_BYTE, 99, MPI_COMM_WORLD); });
    for (int tag = 1; tag <= 3; tag++) {
        if (rank == 0)
            MPI_Send(buffer, tag, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
        else
            MPI_Recv(buffer, tag, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    std::printf("rank %d: %d caught, %d unwound\n", rank, caught, unwound);
    return caught == 4 && unwound == 4 ? 0 : 1;
}

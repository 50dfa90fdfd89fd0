// Two ranks exchange messages in C++: one in a member of a class template, one in a template of a namespace.
#include <mpi.h>

template <typename Value> class ring
{
    Value got{};

  public:
    template <int tag> __attribute__((noinline)) Value pass(Value value, int peer)
    {
        MPI_Sendrecv(&value, sizeof value, MPI_BYTE, peer, tag, &got, sizeof got, MPI_BYTE, peer, tag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        return got;
    }
};

namespace mesh
{
template <typename Value> __attribute__((noinline)) int exchange(Value value, int peer)
{
    Value got{};
    MPI_Request request;
    MPI_Irecv(&got, sizeof got, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &request);
    MPI_Send(&value, sizeof value, MPI_BYTE, peer, 5, MPI_COMM_WORLD);
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}
} // namespace mesh

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ring<double> both;
    bool is_wrong = both.pass<3>(rank, 1 - rank) != 1 - rank;
    int result = mesh::exchange(7L, 1 - rank);
    MPI_Finalize();
    return is_wrong || result != MPI_SUCCESS;
}

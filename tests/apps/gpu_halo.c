/* gpu_halo: the halo of a 27-point stencil whose cells lie in the memory of GPUs.
 *
 *     gpu_halo LIBCUDA CELLS ROUNDS RANKS_OF_NODE FILE
 *
 * The ranks form a grid of three dimensions that closes on itself; each has CELLS cells of 8 bytes a dimension. A round
 * sends to all 26 neighbours: faces of CELLS * CELLS cells, edges of CELLS, corners of one. LIBCUDA is the driver of
 * tests/mock_cuda, whose device memory is the host's, so that any MPI can take it; a rank's GPU has its number among
 * RANKS_OF_NODE. What was sent goes to FILE (witness.h). */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "tests/apps/app.h"
#include "tests/apps/witness.h"

enum { NEIGHBOURS = 26, CELL_BYTES = 8, CELLS_MAX = 1024 };

struct neighbour {
    int rank, bytes;
    int tag, tag_back; /* of the offset, and of the opposite one */
};

static void find(void *library, const char *name, void *function)
{
    void *found = library != NULL ? dlsym(library, name) : NULL;
    if (found == NULL)
        app_fail("no %s in the driver", name);
    memcpy(function, &found, sizeof found);
}

/* Returns memory of the rank's GPU. */
static char *device_memory(const char *path, int gpu, size_t bytes)
{
    int (*create)(void **context, unsigned flags, int device), (*allocate)(uint64_t * address, size_t bytes);
    void *library = dlopen(path, RTLD_NOW), *context;
    uint64_t address;
    find(library, "cuCtxCreate_v2", &create);
    find(library, "cuMemAlloc_v2", &allocate);
    if (create(&context, 0, gpu) != 0 || allocate(&address, bytes) != 0)
        app_fail("no memory of GPU %d", gpu);
    usleep(20000); /* a real driver takes longer to start */
    return (char *)(uintptr_t)address;
}

static void find_neighbours(int cells, struct neighbour neighbours[NEIGHBOURS])
{
    int sides[3] = {0, 0, 0}, closed[3] = {1, 1, 1}, own[3], n = 0;
    MPI_Comm grid;
    MPI_Dims_create(app_size(), 3, sides);
    MPI_Cart_create(MPI_COMM_WORLD, 3, sides, closed, 0, &grid);
    MPI_Cart_coords(grid, app_rank(), 3, own);
    for (int offset = 0; offset < 27; offset++) {
        int to[3] = {own[0] + offset / 9 - 1, own[1] + offset / 3 % 3 - 1, own[2] + offset % 3 - 1};
        if (offset == 13)
            continue;
        struct neighbour *one = &neighbours[n++];
        *one = (struct neighbour){.bytes = CELL_BYTES, .tag = offset, .tag_back = 26 - offset};
        for (int i = 0; i < 3; i++)
            one->bytes *= to[i] == own[i] ? cells : 1;
        MPI_Cart_rank(grid, to, &one->rank);
    }
    MPI_Comm_free(&grid);
}

static void run_round(const struct neighbour neighbours[NEIGHBOURS], char *out, char *in, struct traffic *traffic)
{
    MPI_Request requests[2 * NEIGHBOURS];
    size_t at = 0;
    for (int i = 0; i < NEIGHBOURS; i++) {
        const struct neighbour *to = &neighbours[i];
        MPI_Irecv(in + at, to->bytes, MPI_BYTE, to->rank, to->tag_back, MPI_COMM_WORLD, &requests[i]);
        at += (size_t)to->bytes;
    }
    at = 0;
    for (int i = 0; i < NEIGHBOURS; i++) {
        const struct neighbour *to = &neighbours[i];
        MPI_Isend(out + at, to->bytes, MPI_BYTE, to->rank, to->tag, MPI_COMM_WORLD, &requests[NEIGHBOURS + i]);
        traffic_sent(traffic, to->rank, (uint64_t)to->bytes);
        at += (size_t)to->bytes;
    }
    MPI_Waitall(2 * NEIGHBOURS, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    struct neighbour neighbours[NEIGHBOURS];
    struct traffic traffic;
    size_t bytes = 0;
    MPI_Init(&argc, &argv);
    if (argc != 6)
        app_fail("usage: gpu_halo LIBCUDA CELLS ROUNDS RANKS_OF_NODE FILE");
    int cells = (int)app_integer("CELLS", argv[2], 1, CELLS_MAX), rounds = (int)app_integer("ROUNDS", argv[3], 1, 1000);
    int gpus = (int)app_integer("RANKS_OF_NODE", argv[4], 1, 64);
    find_neighbours(cells, neighbours);
    for (int i = 0; i < NEIGHBOURS; i++)
        bytes += (size_t)neighbours[i].bytes;
    char *memory = device_memory(argv[1], app_rank() % gpus, 2 * bytes);
    witness_init(&traffic);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < rounds; round++)
        run_round(neighbours, memory, memory + bytes, &traffic);
    traffic_write(&traffic, argv[5]);
    witness_release(&traffic);
    MPI_Finalize();
    return 0;
}

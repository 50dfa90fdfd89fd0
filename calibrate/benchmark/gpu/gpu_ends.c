/* A GPU is known to other processes by its bus id: its number is another one in each process that sees other GPUs. */
#include "calibrate/benchmark/gpu/gpu_ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/measure/mpi_job.h"
#include "calibrate/gpu/gpu_copy.h"
#include "calibrate/gpu/gpu_socket.h"
#include "calibrate/measure/levels.h"

#define ENDS_NOT_AVAILABLE MEASURE_NOTE "not_available "

/* Tells all ranks what the first member of an end found. */
struct told {
    bool has_gpu, is_shared, is_mock;
    int socket;
    char bus_id[GPU_BUS_ID_BYTES];
    struct cuda_ipc_handle handle;
};

static bool is_beside(const struct placement *placement, int rank, int other)
{
    return placement->node[rank] == placement->node[other] && placement->socket[rank] == placement->socket[other];
}

/* Adds a rank to the end on whose socket it is; where that are both, to the one with fewer. */
static void add_member(const struct placement *placement, int rank, struct gpu_ends *ends, int n[2])
{
    int fewer = n[1] < n[0] ? 1 : 0;
    for (int i = 0; i < 2; i++) {
        int side = i == 0 ? fewer : 1 - fewer;
        struct gpu_end *end = &ends->side[side];
        if (n[side] == GPU_MEMBERS_MAX || !is_beside(placement, rank, end->members[0]))
            continue;
        end->members[n[side]++] = rank;
        return;
    }
}

void gpu_ends_choose(const struct measure *measure, enum level level, struct gpu_ends *ends)
{
    struct pair pair;
    *ends = (struct gpu_ends){.level = level, .side = {{.own = -1}, {.own = -1}}};
    if (levels_pairs(&measure->placement, level, 1, &pair) == 0)
        return;
    ends->side[0].members[0] = pair.first;
    ends->side[1].members[0] = pair.second;
    int n[2] = {1, 1};
    for (int rank = 0; rank < measure->size; rank++)
        if (rank != pair.first && rank != pair.second)
            add_member(&measure->placement, rank, ends, n);
    int fewest = n[1] < n[0] ? n[1] : n[0];
    for (ends->n_members = 1; 2 * ends->n_members <= fewest;)
        ends->n_members *= 2;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < ends->n_members; i++)
            if (ends->side[side].members[i] == measure->rank)
                ends->side[side].own = i;
}

struct gpu_end *gpu_ends_own(struct gpu_ends *ends)
{
    for (int side = 0; side < 2; side++)
        if (ends->side[side].own >= 0)
            return &ends->side[side];
    return NULL;
}

/* Finds the GPU for a rank on that socket: the first of those near, and of them the first that is not taken. */
static int pick(uint32_t socket, const char *taken, struct told *told, struct error *error)
{
    struct gpu gpu;
    int best = -1, result = gpu_open(&gpu, error);
    if (result != 0)
        return -1;
    for (int i = 0; i < gpu.driver.n_devices && result == 0; i++) {
        char bus_id[GPU_BUS_ID_BYTES];
        result = gpu_bus_id(&gpu, i, bus_id, error);
        if (result != 0)
            break;
        int found = gpu_socket(bus_id), score = 2 * (found < 0 || (uint32_t)found == socket);
        score += strcmp(bus_id, taken) != 0;
        if (score <= best)
            continue;
        best = score;
        told->socket = found;
        memcpy(told->bus_id, bus_id, sizeof bus_id);
    }
    gpu_close(&gpu);
    return result;
}

/* Copies a byte each way, so that what is refused is told before anything is measured. */
static int try_copies(struct gpu *gpu, struct error *error)
{
    double seconds;
    if (gpu_copy(gpu, GPU_TO, true, gpu->pinned, 0, 1, 1, &seconds, error) != 0)
        return -1;
    return gpu_copy(gpu, GPU_FROM, false, gpu->pinned, 0, 1, 1, &seconds, error);
}

/* Takes a GPU as the first member of an end. */
static int take_first(const struct measure *measure, const char *taken, struct gpu *gpu, struct told *told)
{
    struct error error;
    if (pick(measure->placement.socket[measure->rank], taken, told, &error) != 0 ||
        gpu_open_at(gpu, told->bus_id, &error) != 0 || gpu_take(gpu, measure->buffer_bytes, &error) != 0 ||
        try_copies(gpu, &error) != 0) {
        fprintf(stderr, ENDS_NOT_AVAILABLE "gpu_paths rank %d: %s\n", measure->rank, error.text);
        return -1;
    }
    told->has_gpu = true;
    told->is_mock = gpu->driver.is_mock;
    told->is_shared = gpu_share(gpu, &told->handle, &error) == 0;
    if (!told->is_shared)
        fprintf(stderr, ENDS_NOT_AVAILABLE "duplicate-pointer rank %d: %s\n", measure->rank, error.text);
    return 0;
}

/* Takes the memory of the first member as another one. Returns whether it has it. */
static bool take_other(const struct measure *measure, const struct told *told, struct gpu *gpu)
{
    struct error error;
    if (!told->is_shared)
        return false;
    if (gpu_open_at(gpu, told->bus_id, &error) == 0 &&
        gpu_take_shared(gpu, &told->handle, measure->buffer_bytes, &error) == 0 && try_copies(gpu, &error) == 0)
        return true;
    fprintf(stderr, ENDS_NOT_AVAILABLE "duplicate-pointer rank %d: %s\n", measure->rank, error.text);
    return false;
}

/* Gives each member memory of the host: a process that copies nothing has ordinary one. */
static void take_host(const struct measure *measure, struct gpu_end *end)
{
    end->host = end->gpu.pinned;
    end->owns_host = end->host == NULL;
    if (end->owns_host)
        end->host = calloc(1, measure->buffer_bytes);
    if (end->host != NULL)
        return;
    abort_all("no memory for a buffer of %zu bytes; use --buffer", measure->buffer_bytes);
}

void gpu_ends_take(struct measure *measure, struct gpu_ends *ends)
{
    struct told told[2] = {{.socket = -1}, {.socket = -1}};
    const uint32_t *node = measure->placement.node;
    int has = 1;
    if (ends->n_members == 0)
        return;
    for (int side = 0; side < 2; side++) {
        struct gpu_end *end = &ends->side[side];
        bool is_shared_node = side == 1 && node[ends->side[0].members[0]] == node[end->members[0]];
        if (end->own == 0)
            (void)take_first(measure, is_shared_node ? told[0].bus_id : "", &end->gpu, &told[side]);
        MPI_Bcast(&told[side], sizeof told[side], MPI_BYTE, end->members[0], measure->comm);
        if (end->own > 0)
            has = take_other(measure, &told[side], &end->gpu) ? has : 0;
        if (end->own >= 0)
            take_host(measure, end);
        memcpy(end->bus_id, told[side].bus_id, sizeof end->bus_id);
        end->socket = told[side].socket;
    }
    int all_have;
    MPI_Allreduce(&has, &all_have, 1, MPI_INT, MPI_MIN, measure->comm);
    ends->is_mock = told[0].is_mock || told[1].is_mock;
    ends->has_gpus = told[0].has_gpu && told[1].has_gpu;
    ends->has_shared = told[0].is_shared && told[1].is_shared && all_have;
}

void gpu_ends_release(struct measure *measure, struct gpu_ends *ends)
{
    struct gpu_end *end = gpu_ends_own(ends);
    if (end != NULL && end->own > 0)
        gpu_close(&end->gpu);
    if (ends->n_members > 1)
        MPI_Barrier(measure->comm); /* memory is closed before its owner frees it */
    if (end == NULL)
        return;
    gpu_close(&end->gpu);
    if (end->owns_host)
        free(end->host);
}

const char *gpu_ends_no_direct(const struct measure *measure, const struct gpu_ends *ends)
{
    const struct gpu_end *side = ends->side;
    const uint32_t *node = measure->placement.node;
    if (node[side[0].members[0]] != node[side[1].members[0]])
        return NULL;
    if (strcmp(side[0].bus_id, side[1].bus_id) == 0)
        return "one GPU: messages between two need another one";
    bool is_same = side[0].socket == side[1].socket;
    if (is_same != (ends->level == LEVEL_INTRA_SOCKET))
        return is_same ? "the GPUs are of one socket" : "the GPUs are of two sockets";
    return NULL;
}

/* Measures copies between the first GPU and the memory of its node, within the GPU, and to the next one (Bienz 2021,
 * Table II).
 *
 * Two ranks of rank 0's node copy, one on the GPU's own socket (intra_socket) and one on another (inter_socket), each
 * with host memory that it touched first: bind the ranks, else both may be anywhere. Each size is copied in both
 * directions, from pinned and from pageable memory, once timed by the wall clock from call to end and once by events of
 * the GPU. The nearer rank copies within the GPU (level self) and to the next one as well. A note `not_available WHAT
 * REASON` reports what is missing; the program still ends with 0. Samples of a mock of the driver say so in their
 * variant, and nothing fits them. */
#include <stdio.h>

#include "calibrate/benchmark/benchmarks.h"
#include "calibrate/gpu/gpu_memory.h"
#include "calibrate/gpu/gpu_path.h"
#include "calibrate/machine/machine.h"

#define COPY_BYTES_MAX 16777216u

enum { COPY_REPEATS_MAX = 1024, COPY_WARM_SHARE = 16, COPY_STEP = 4, NOWHERE = -1 };

static const struct copy_mode {
    const char *variant; /* behind MACHINE_MOCK and a '_' where the driver is a mock */
    enum gpu_copy_way way;
    bool is_pinned, by_events;
} modes[] = {
    {MACHINE_MOCK "_to_pinned", GPU_TO, true, false},
    {MACHINE_MOCK "_to_pinned_events", GPU_TO, true, true},
    {MACHINE_MOCK "_to_pageable", GPU_TO, false, false},
    {MACHINE_MOCK "_to_pageable_events", GPU_TO, false, true},
    {MACHINE_MOCK "_from_pinned", GPU_FROM, true, false},
    {MACHINE_MOCK "_from_pinned_events", GPU_FROM, true, true},
    {MACHINE_MOCK "_from_pageable", GPU_FROM, false, false},
    {MACHINE_MOCK "_from_pageable_events", GPU_FROM, false, true},
    {MACHINE_MOCK "_device", GPU_WITHIN, true, false},
    {MACHINE_MOCK "_device_events", GPU_WITHIN, true, true},
    {MACHINE_MOCK "_peer", GPU_PEER, true, false},
    {MACHINE_MOCK "_peer_events", GPU_PEER, true, true},
};
enum { COPY_N_MODES = sizeof modes / sizeof modes[0], NEAR = 0, FAR = 1, N_PLACES = 2 };

/* What rank 0 found, for all ranks. */
struct found {
    bool is_there, is_mock;
    int sockets[2]; /* of the first GPU and the next one; -1: not known */
    int n_gpus;
    bool has_peer;
};

static struct found copy_found;
static struct gpu copy_gpu;
static struct pair copy_copiers[N_PLACES]; /* of a rank with itself; NOWHERE: there is none */

/* The ranks that are chosen to copy open the driver themselves. */
bool gpu_look(const struct measure *measure)
{
    struct error error;
    if (measure->rank == 0 && gpu_open(&copy_gpu, NULL, &error) != 0)
        fprintf(stderr, MEASURE_NOT_AVAILABLE "gpu %s\n", error.text);
    if (measure->rank == 0 && copy_gpu.driver.library != NULL) {
        copy_found = (struct found){.is_there = true, .is_mock = copy_gpu.driver.is_mock, .n_gpus = copy_gpu.n_sides};
        for (int i = 0; i < copy_gpu.n_sides; i++)
            copy_found.sockets[i] = gpu_socket(copy_gpu.side[i].bus_id);
        gpu_close(&copy_gpu);
    }
    MPI_Bcast(&copy_found, sizeof copy_found, MPI_BYTE, 0, measure->comm);
    return copy_found.is_there;
}

/* Chooses the first rank of rank 0's node on the GPU's socket and the first on another one. Where the GPU's socket is
 * not known any rank counts as near. */
static void copy_choose(const struct measure *measure)
{
    const struct placement *placement = &measure->placement;
    for (int place = 0; place < N_PLACES; place++)
        copy_copiers[place] = (struct pair){NOWHERE, NOWHERE};
    for (int rank = measure->size - 1; rank >= 0; rank--) {
        if (placement->node[rank] != placement->node[0])
            continue;
        bool is_near = copy_found.sockets[0] < 0 || placement->socket[rank] == (uint32_t)copy_found.sockets[0];
        copy_copiers[is_near ? NEAR : FAR] = (struct pair){rank, rank};
    }
}

static void note_what_is_missing(void)
{
    if (copy_found.sockets[0] < 0)
        fprintf(stderr, MEASURE_NOT_AVAILABLE
                "gpu_copy_far hwloc does not know the socket of the GPU: any counts as its own\n");
    else if (copy_copiers[FAR].first == NOWHERE)
        fprintf(stderr, MEASURE_NOT_AVAILABLE "gpu_copy_far no rank of the node is on another socket than the GPU\n");
    if (copy_copiers[NEAR].first == NOWHERE)
        fprintf(stderr, MEASURE_NOT_AVAILABLE "gpu_copy_near no rank of the node is on the socket of the GPU\n");
    if (copy_found.n_gpus < 2)
        fprintf(stderr, MEASURE_NOT_AVAILABLE "gpu_copy_peer one GPU: copies from one to another need two\n");
    else if (!copy_found.has_peer)
        fprintf(stderr, MEASURE_NOT_AVAILABLE "gpu_copy_peer the first GPU cannot reach the memory of the second\n");
}

/* Returns where a rank copies, NOWHERE where it does not. */
static int place_of(int rank)
{
    return rank == copy_copiers[NEAR].first ? NEAR : rank == copy_copiers[FAR].first ? FAR : NOWHERE;
}

/* Copies a byte each way, so that a refusal is reported before anything is measured. */
static int try_ways(struct error *error)
{
    double seconds;
    for (int mode = 0; mode < COPY_N_MODES; mode++)
        if ((modes[mode].way != GPU_PEER || copy_gpu.has_peer) &&
            gpu_copy(&copy_gpu, modes[mode].way, modes[mode].by_events, copy_gpu.pinned, 0, 1, 1, &seconds, error) != 0)
            return -1;
    return 0;
}

/* Opens the driver on the ranks that copy; returns on all ranks whether each could. */
static bool copy_take(const struct measure *measure)
{
    struct error error;
    int refused = 0, has_peer = 0, any_refused, any_peer;
    if (place_of(measure->rank) != NOWHERE) {
        refused = gpu_open(&copy_gpu, NULL, &error) != 0 || gpu_take(&copy_gpu, measure->buffer_bytes, &error) != 0 ||
                  gpu_take_other_ends(&copy_gpu, &error) != 0 || try_ways(&error) != 0;
        has_peer = copy_gpu.has_peer;
    }
    if (refused)
        fprintf(stderr, MEASURE_NOT_AVAILABLE "gpu_copy rank %d: %s\n", measure->rank, error.text);
    MPI_Allreduce(&refused, &any_refused, 1, MPI_INT, MPI_MAX, measure->comm);
    MPI_Allreduce(&has_peer, &any_peer, 1, MPI_INT, MPI_MAX, measure->comm);
    copy_found.has_peer = any_peer;
    if (any_refused)
        gpu_close(&copy_gpu);
    return !any_refused;
}

/* Returns a negative number, which ends the program with 0, where there is nothing to measure. */
static int copy_prepare(struct measure *measure, bool speak)
{
    if (!gpu_word_listed(measure->paths, GPU_COPY_NAME) || !gpu_look(measure))
        return -1;
    copy_choose(measure);
    if (!copy_take(measure))
        return -1;
    if (speak)
        note_what_is_missing();
    return 0;
}

static enum level level_of(int mode, int place)
{
    bool same = copy_found.sockets[0] == copy_found.sockets[1];
    if (modes[mode].way == GPU_WITHIN)
        return LEVEL_SELF;
    return (modes[mode].way == GPU_PEER ? same : place == NEAR) ? LEVEL_INTRA_SOCKET : LEVEL_INTER_SOCKET;
}

/* Returns whether a rank makes such copies: one rank alone makes those that end on a GPU. */
static bool copy_is_measured(enum gpu_copy_way way, bool is_nearest)
{
    return way == GPU_PEER ? copy_found.has_peer && is_nearest : way != GPU_WITHIN || is_nearest;
}

static void copy_list(const struct measure *measure, struct item_list *list)
{
    uint64_t most = COPY_BYTES_MAX < measure->buffer_bytes ? COPY_BYTES_MAX : measure->buffer_bytes;
    int nearest = copy_copiers[NEAR].first != NOWHERE ? NEAR : FAR;
    for (int place = 0; place < N_PLACES; place++)
        for (int mode = 0; mode < COPY_N_MODES && copy_copiers[place].first != NOWHERE; mode++)
            if (copy_is_measured(modes[mode].way, place == nearest))
                item_add_sizes(
                    list,
                    (struct item){.level = level_of(mode, place),
                                  .mode = mode,
                                  .variant = modes[mode].variant + (copy_found.is_mock ? 0 : sizeof MACHINE_MOCK),
                                  .repeats = COPY_REPEATS_MAX,
                                  .pair = copy_copiers[place]},
                    1, most, COPY_STEP);
}

static double copy_exchange(struct measure *measure, const struct task *task)
{
    const struct copy_mode *mode = &modes[task->mode];
    struct error error;
    double seconds = 0;
    size_t place = measure_place(measure, task->bytes);
    char *host = (mode->is_pinned ? copy_gpu.pinned : measure->send_buffer) + place;
    if (gpu_copy(&copy_gpu, mode->way, mode->by_events, host, place, task->bytes, 1 + task->repeats / COPY_WARM_SHARE,
                 &seconds, &error) != 0 ||
        gpu_copy(&copy_gpu, mode->way, mode->by_events, host, place, task->bytes, task->repeats, &seconds, &error) != 0)
        abort_all("%s", error.text);
    return seconds;
}

static void copy_release(struct measure *measure)
{
    (void)measure;
    gpu_close(&copy_gpu);
}

const struct benchmark_program gpu_copy_program = {
    .name = "gpu_copy",
    .summary = "Copies between a GPU and its host, pinned and pageable, near and far, within it, and to the next GPU.",
    .prepare = copy_prepare,
    .list = copy_list,
    .exchange = copy_exchange,
    .release = copy_release,
};

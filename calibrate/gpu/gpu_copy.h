/* Copies bytes between a GPU and its host, and between two GPUs, and times each copy by the wall clock or by the GPU's
 * own events (Bienz 2021, Table II). Knows neither MPI nor samples. */
#ifndef MPISTAIR_CALIBRATE_GPU_COPY_H
#define MPISTAIR_CALIBRATE_GPU_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibrate/gpu/cuda_driver.h"
#include "share/base/error.h"

struct cuda_copy {
    CUDA_COPY_FUNCTIONS(CUDA_MEMBER)
};

enum { GPU_BUS_ID_BYTES = 32 };

/* Holds one side of a copy on a GPU. */
struct gpu_side {
    int device;
    char bus_id[GPU_BUS_ID_BYTES]; /* domain:bus:device.function */
    void *context;
    uint64_t data;
};

struct gpu {
    struct cuda_driver driver;
    struct cuda_copy cuda;
    int n_sides;             /* 2 where there is another GPU */
    struct gpu_side side[2]; /* the first GPU that the process sees, and the next one */
    bool has_peer;           /* the second has data, and the first can reach it */
    void *stream;
    void *events[2];
    char *pinned; /* [bytes] */
    size_t bytes;
};

enum gpu_way { GPU_TO, GPU_FROM, GPU_PEER };

/* Opens the driver and finds the first two GPUs; makes no context. Returns 0, or -1 with the reason, of one line, in
 * error and nothing left open. */
int gpu_open(struct gpu *gpu, struct error *error);
/* Takes the first GPU, and the second where there is one, and so many bytes on each and on the host, pinned where the
 * calling thread runs. Returns 0, or -1 with the reason; gpu_close is due in both cases. */
int gpu_take(struct gpu *gpu, size_t bytes, struct error *error);
/* Copies `bytes` so many times from place to place, offset bytes into each; host is gpu->pinned or other memory, of as
 * many bytes. Each copy is over before the next begins. *seconds is the mean of one. Returns 0, or -1 with the reason.
 */
int gpu_copy(struct gpu *gpu, enum gpu_way way, bool by_events, char *host, size_t offset, size_t bytes, int repeats,
             double *seconds, struct error *error);
void gpu_close(struct gpu *gpu);

#endif

/* Copies bytes between a GPU and its host, within a GPU, and between two GPUs, and times each copy by the wall clock or
 * by the GPU's own events (Bienz 2021, Table II). */
#ifndef MPISTAIR_CALIBRATE_GPU_COPY_H
#define MPISTAIR_CALIBRATE_GPU_COPY_H

#include "calibrate/gpu/gpu_memory.h"

/* GPU_WITHIN and GPU_PEER need gpu_take_other_ends. */
enum gpu_way { GPU_TO, GPU_FROM, GPU_WITHIN, GPU_PEER };

/* Copies `bytes` so many times between host, which is pinned or not, and the GPU's memory from offset on; between GPUs
 * host is not read. The context is the thread's (gpu_enter). Each copy is over before the next begins. *seconds is the
 * mean of one. Returns 0, or -1 with the reason. */
int gpu_copy(struct gpu *gpu, enum gpu_way way, bool by_events, char *host, size_t offset, size_t bytes, int repeats,
             double *seconds, struct error *error);

#endif

/* Says which bytes of a GPU's buffers each of its processes holds in a collective between GPUs.
 *
 * Values are of 8 bytes. A buffer has a segment for each GPU, in the order of GPUs; that of MPI_Allreduce is one
 * segment. A part has a piece of each segment, in that order. */
#ifndef MPISTAIR_TESTS_GPU_PARTS_H
#define MPISTAIR_TESTS_GPU_PARTS_H

#include "tests/apps/device_memory.h"

#include <stdint.h>

enum gpu_collective { GPU_ALLTOALL, GPU_ALLTOALLV, GPU_MESSAGES, GPU_ALLREDUCE };

typedef int64_t gpu_value;

/* Describes the data of the whole collective. */
struct gpu_data {
    enum gpu_collective collective;
    int n_gpus;
    size_t values; /* from each GPU to each; of MPI_Allreduce each GPU's */
    int varying;   /* 1: from GPU s to GPU d (s + 2 d) mod 3 times as many, and one more where s and d are odd */
};

enum gpu_side { GPU_SENDS, GPU_RECEIVES };

/* Holds what a process has of one buffer of its GPU. */
struct gpu_part {
    size_t n; /* segments */
    struct device_piece *pieces;
    int *counts;  /* [n] values of each piece */
    int *offsets; /* [n] where it begins on the host, in values */
    size_t bytes;
};

/* Returns how many segments the buffers have, and the values from one GPU to another one. */
size_t gpu_data_segments(const struct gpu_data *data);
size_t gpu_data_values(const struct gpu_data *data, int src, int dst);
/* Returns the values of segment i of a GPU's buffer. */
size_t gpu_data_segment(const struct gpu_data *data, enum gpu_side side, int gpu, size_t i);
/* Returns the bytes of a GPU's buffer. */
size_t gpu_data_bytes(const struct gpu_data *data, enum gpu_side side, int gpu);

/* Returns the part of one of n holders: an n-th of each segment. gpu_part_release() frees. */
struct gpu_part gpu_part_even(const struct gpu_data *data, enum gpu_side side, int gpu, int holder, int n_holders);
/* Returns the part that takes part in the collective: as above, but of messages (H VI.B) whole segments, those of every
 * n-th GPU, so that each holder has an n-th of the messages. */
struct gpu_part gpu_part_of(const struct gpu_data *data, enum gpu_side side, int gpu, int holder, int n_holders);
void gpu_part_release(struct gpu_part *part);

#endif

/* Cuts buffers into parts without communication, as every process knows all sizes. */
#include "tests/apps/gpu_parts.h"

#include "tests/apps/app.h"

#include <stdbool.h>
#include <stdlib.h>

size_t gpu_data_segments(const struct gpu_data *data)
{
    return data->collective == GPU_ALLREDUCE ? 1 : (size_t)data->n_gpus;
}

size_t gpu_data_values(const struct gpu_data *data, int src, int dst)
{
    if (!data->varying)
        return data->values;
    return data->values * ((size_t)(src + 2 * dst) % 3) + (size_t)(src % 2 * (dst % 2));
}

size_t gpu_data_segment(const struct gpu_data *data, enum gpu_side side, int gpu, size_t i)
{
    int other = (int)i;
    return side == GPU_SENDS ? gpu_data_values(data, gpu, other) : gpu_data_values(data, other, gpu);
}

size_t gpu_data_bytes(const struct gpu_data *data, enum gpu_side side, int gpu)
{
    size_t values = 0;
    for (size_t i = 0; i < gpu_data_segments(data); i++)
        values += gpu_data_segment(data, side, gpu, i);
    return values * sizeof(gpu_value);
}

static struct gpu_part cut(const struct gpu_data *data, enum gpu_side side, int gpu, int holder, int n_holders,
                           bool whole_segments)
{
    struct gpu_part part = {.n = gpu_data_segments(data)};
    part.pieces = app_allocate(part.n, sizeof(*part.pieces));
    part.counts = app_allocate(part.n, sizeof(*part.counts));
    part.offsets = app_allocate(part.n, sizeof(*part.offsets));
    size_t at = 0, k = (size_t)n_holders, number = (size_t)holder;
    for (size_t i = 0; i < part.n; i++) {
        size_t values = gpu_data_segment(data, side, gpu, i), begin = values * number / k;
        size_t end = values * (number + 1) / k;
        if (whole_segments) {
            begin = 0;
            end = i % k == number ? values : 0;
        }
        part.pieces[i].offset = (at + begin) * sizeof(gpu_value);
        part.pieces[i].bytes = (end - begin) * sizeof(gpu_value);
        part.counts[i] = (int)(end - begin);
        part.offsets[i] = (int)(part.bytes / sizeof(gpu_value));
        part.bytes += part.pieces[i].bytes;
        at += values;
    }
    return part;
}

struct gpu_part gpu_part_even(const struct gpu_data *data, enum gpu_side side, int gpu, int holder, int n_holders)
{
    return cut(data, side, gpu, holder, n_holders, false);
}

struct gpu_part gpu_part_of(const struct gpu_data *data, enum gpu_side side, int gpu, int holder, int n_holders)
{
    return cut(data, side, gpu, holder, n_holders, data->collective == GPU_MESSAGES);
}

void gpu_part_release(struct gpu_part *part)
{
    free(part->pieces);
    free(part->counts);
    free(part->offsets);
}

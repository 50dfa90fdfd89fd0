/* Every process goes to the device's memory itself, by a cut of its own (an even one), so that what is looked at does
 * not depend on the way that is tested. */
#include "tests/apps/gpu_content.h"

#include "tests/apps/app.h"

#include <inttypes.h>
#include <stdlib.h>

/* Returns a value of 40 bits that follows from its arguments alone: sums over GPUs do not overflow. */
static gpu_value value(int repeat, int src, int dst, size_t index)
{
    uint64_t x = (uint64_t)index * 0x9e3779b97f4a7c15U + (uint64_t)src * 0xbf58476d1ce4e5b9U;
    x += (uint64_t)dst * 0x94d049bb133111ebU + (uint64_t)repeat * 0xd6e8feb86659fd93U + 1;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return (gpu_value)((x ^ (x >> 31)) >> 24);
}

/* Returns what a GPU has to receive as a value of a segment: from one GPU, or a sum over all. */
static gpu_value expected(const struct gpu_job *job, int repeat, int segment, size_t index)
{
    if (job->data->collective != GPU_ALLREDUCE)
        return value(repeat, segment, job->groups->gpu, index);
    gpu_value sum = 0;
    for (int gpu = 0; gpu < job->data->n_gpus; gpu++)
        sum += value(repeat, gpu, 0, index);
    return sum;
}

static struct gpu_part own_part(const struct gpu_job *job, enum gpu_side side)
{
    const struct gpu_groups *groups = job->groups;
    return gpu_part_even(job->data, side, groups->gpu, groups->member, groups->per_gpu);
}

/* Returns the index in its segment of the first value of a piece. */
static size_t first_index(const struct gpu_job *job, enum gpu_side side, size_t segment)
{
    const struct gpu_groups *groups = job->groups;
    size_t values = gpu_data_segment(job->data, side, groups->gpu, segment);
    return values * (size_t)groups->member / (size_t)groups->per_gpu;
}

void gpu_content_fill(struct gpu_job *job, int repeat)
{
    struct gpu_part sent = own_part(job, GPU_SENDS), received = own_part(job, GPU_RECEIVES);
    gpu_value *host = app_allocate(sent.bytes > received.bytes ? sent.bytes : received.bytes, 1);
    for (size_t i = 0; i < received.bytes / sizeof(*host); i++)
        host[i] = -1;
    device_push(&job->device[GPU_RECEIVES], received.pieces, received.n, host);
    for (size_t i = 0; i < sent.n; i++) {
        size_t first = first_index(job, GPU_SENDS, i);
        for (int at = 0; at < sent.counts[i]; at++)
            host[sent.offsets[i] + at] = value(repeat, job->groups->gpu, (int)i, first + (size_t)at);
    }
    device_push(&job->device[GPU_SENDS], sent.pieces, sent.n, host);
    device_settle(&job->device[GPU_RECEIVES]);
    device_settle(&job->device[GPU_SENDS]);
    free(host);
    gpu_part_release(&sent);
    gpu_part_release(&received);
}

void gpu_content_spoil(struct gpu_job *job)
{
    const struct gpu_groups *groups = job->groups;
    size_t bytes = gpu_data_bytes(job->data, GPU_RECEIVES, groups->gpu);
    if (groups->gpu != groups->n_gpus - 1 || groups->member != 0 || bytes == 0)
        return;
    struct device_piece last = {bytes - sizeof(gpu_value), sizeof(gpu_value)};
    gpu_value changed;
    device_pull(&job->device[GPU_RECEIVES], &last, 1, &changed);
    changed ^= 1;
    device_push(&job->device[GPU_RECEIVES], &last, 1, &changed);
}

void gpu_content_check(struct gpu_job *job, int repeat)
{
    device_settle(&job->device[GPU_RECEIVES]);
    struct gpu_part part = own_part(job, GPU_RECEIVES);
    gpu_value *host = app_allocate(part.bytes, 1);
    device_pull(&job->device[GPU_RECEIVES], part.pieces, part.n, host);
    for (size_t i = 0; i < part.n; i++) {
        size_t first = first_index(job, GPU_RECEIVES, i);
        for (int at = 0; at < part.counts[i]; at++) {
            size_t index = first + (size_t)at;
            gpu_value found = host[part.offsets[i] + at], right = expected(job, repeat, (int)i, index);
            if (found != right)
                app_fail("repeat %d: GPU %d: value %zu %s %zu is %" PRId64 ", expected %" PRId64, repeat,
                         job->groups->gpu, index, job->data->collective == GPU_ALLREDUCE ? "of sum" : "from GPU", i,
                         found, right);
        }
    }
    free(host);
    gpu_part_release(&part);
}

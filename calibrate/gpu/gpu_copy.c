/* A copy is timed as a program waits for it: the call, the copy, and the wait for the stream. Events say what of that
 * the copy itself took on the GPU. */
#include "calibrate/gpu/gpu_copy.h"

#include "share/base/monotonic.h"

static int copy_start(struct gpu *gpu, enum gpu_way way, char *host, size_t offset, size_t bytes, struct error *error)
{
    uint64_t near = gpu->side[0].data + offset;
    if (way == GPU_TO)
        GPU_CALL(gpu, cuMemcpyHtoDAsync, near, host, bytes, gpu->stream);
    else if (way == GPU_FROM)
        GPU_CALL(gpu, cuMemcpyDtoHAsync, host, near, bytes, gpu->stream);
    else if (way == GPU_WITHIN)
        GPU_CALL(gpu, cuMemcpyDtoDAsync, gpu->twin + offset, near, bytes, gpu->stream);
    else
        GPU_CALL(gpu, cuMemcpyPeerAsync, gpu->side[1].data + offset, gpu->side[1].context, near, gpu->side[0].context,
                 bytes, gpu->stream);
    return 0;
}

/* Copies once between two events. */
static int copy_between_events(struct gpu *gpu, enum gpu_way way, char *host, size_t offset, size_t bytes,
                               double *seconds, struct error *error)
{
    float milliseconds = 0;
    GPU_CALL(gpu, cuEventRecord, gpu->events[0], gpu->stream);
    if (copy_start(gpu, way, host, offset, bytes, error) != 0)
        return -1;
    GPU_CALL(gpu, cuEventRecord, gpu->events[1], gpu->stream);
    GPU_CALL(gpu, cuStreamSynchronize, gpu->stream);
    GPU_CALL(gpu, cuEventElapsedTime, &milliseconds, gpu->events[0], gpu->events[1]);
    *seconds = 1e-3 * (double)milliseconds;
    return 0;
}

int gpu_copy(struct gpu *gpu, enum gpu_way way, bool by_events, char *host, size_t offset, size_t bytes, int repeats,
             double *seconds, struct error *error)
{
    double begin_s = clock_now_s(), on_gpu_s = 0;
    for (int i = 0; i < repeats; i++) {
        double one_s = 0;
        if (by_events) {
            if (copy_between_events(gpu, way, host, offset, bytes, &one_s, error) != 0)
                return -1;
            on_gpu_s += one_s;
            continue;
        }
        if (copy_start(gpu, way, host, offset, bytes, error) != 0)
            return -1;
        GPU_CALL(gpu, cuStreamSynchronize, gpu->stream);
    }
    *seconds = (by_events ? on_gpu_s : clock_now_s() - begin_s) / repeats;
    return 0;
}

/* A copy is timed as a program waits for it: the call, the copy, and the wait for the stream. Events say what of that
 * the copy itself took on the GPU. */
#include "calibrate/gpu/gpu_copy.h"

#include <string.h>

#include "share/base/monotonic.h"

/* Calls a function of the driver; returns from the caller with -1 and the reason where it is refused. */
#define CALL(gpu, name, ...)                                                                                           \
    do {                                                                                                               \
        int code_ = (gpu)->cuda.name(__VA_ARGS__);                                                                     \
        if (code_ != 0)                                                                                                \
            return cuda_driver_refusal(&(gpu)->driver, #name, code_, error);                                           \
    } while (0)

static int find_functions(struct gpu *gpu, struct error *error)
{
    const struct {
        const char *name;
        size_t offset;
    } functions[] = {
#define ROW(name, type, ...) {#name, offsetof(struct cuda_copy, name)},
        CUDA_COPY_FUNCTIONS(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (cuda_driver_find(&gpu->driver, functions[i].name, (char *)&gpu->cuda + functions[i].offset, error) != 0)
            return -1;
    return 0;
}

static int find_sides(struct gpu *gpu, struct error *error)
{
    gpu->n_sides = gpu->driver.n_devices < 2 ? gpu->driver.n_devices : 2;
    for (int i = 0; i < gpu->n_sides; i++) {
        int code = gpu->driver.cuDeviceGet(&gpu->side[i].device, i);
        if (code != 0)
            return cuda_driver_refusal(&gpu->driver, "cuDeviceGet", code, error);
        CALL(gpu, cuDeviceGetPCIBusId, gpu->side[i].bus_id, GPU_BUS_ID_BYTES, gpu->side[i].device);
    }
    return 0;
}

int gpu_open(struct gpu *gpu, struct error *error)
{
    *gpu = (struct gpu){.n_sides = 0};
    if (cuda_driver_open(&gpu->driver, error) != CUDA_DRIVER_FOUND)
        return -1;
    if (find_functions(gpu, error) == 0 && find_sides(gpu, error) == 0)
        return 0;
    gpu_close(gpu);
    return -1;
}

/* Takes memory on a GPU, whose context is the thread's afterwards. */
static int take_side(struct gpu *gpu, struct gpu_side *side, struct error *error)
{
    CALL(gpu, cuDevicePrimaryCtxRetain, &side->context, side->device);
    CALL(gpu, cuCtxSetCurrent, side->context);
    CALL(gpu, cuMemAlloc, &side->data, gpu->bytes);
    return 0;
}

/* Takes the second GPU, if the first can reach its memory. */
static int take_peer(struct gpu *gpu, struct error *error)
{
    int can = 0;
    CALL(gpu, cuDeviceCanAccessPeer, &can, gpu->side[0].device, gpu->side[1].device);
    if (can == 0)
        return 0;
    if (take_side(gpu, &gpu->side[1], error) != 0)
        return -1;
    CALL(gpu, cuCtxSetCurrent, gpu->side[0].context);
    CALL(gpu, cuCtxEnablePeerAccess, gpu->side[1].context, 0);
    gpu->has_peer = true;
    return 0;
}

int gpu_take(struct gpu *gpu, size_t bytes, struct error *error)
{
    gpu->bytes = bytes;
    if (take_side(gpu, &gpu->side[0], error) != 0)
        return -1;
    CALL(gpu, cuMemAllocHost, (void **)&gpu->pinned, bytes);
    memset(gpu->pinned, 1, bytes);
    CALL(gpu, cuStreamCreate, &gpu->stream, 0);
    for (int i = 0; i < 2; i++)
        CALL(gpu, cuEventCreate, &gpu->events[i], 0);
    return gpu->n_sides > 1 ? take_peer(gpu, error) : 0;
}

static int start(struct gpu *gpu, enum gpu_way way, char *host, size_t offset, size_t bytes, struct error *error)
{
    uint64_t near = gpu->side[0].data + offset;
    if (way == GPU_TO)
        CALL(gpu, cuMemcpyHtoDAsync, near, host + offset, bytes, gpu->stream);
    else if (way == GPU_FROM)
        CALL(gpu, cuMemcpyDtoHAsync, host + offset, near, bytes, gpu->stream);
    else
        CALL(gpu, cuMemcpyPeerAsync, gpu->side[1].data + offset, gpu->side[1].context, near, gpu->side[0].context,
             bytes, gpu->stream);
    return 0;
}

/* Copies once between two events. */
static int copy_between_events(struct gpu *gpu, enum gpu_way way, char *host, size_t offset, size_t bytes,
                               double *seconds, struct error *error)
{
    float milliseconds = 0;
    CALL(gpu, cuEventRecord, gpu->events[0], gpu->stream);
    if (start(gpu, way, host, offset, bytes, error) != 0)
        return -1;
    CALL(gpu, cuEventRecord, gpu->events[1], gpu->stream);
    CALL(gpu, cuStreamSynchronize, gpu->stream);
    CALL(gpu, cuEventElapsedTime, &milliseconds, gpu->events[0], gpu->events[1]);
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
        if (start(gpu, way, host, offset, bytes, error) != 0)
            return -1;
        CALL(gpu, cuStreamSynchronize, gpu->stream);
    }
    *seconds = (by_events ? on_gpu_s : clock_now_s() - begin_s) / repeats;
    return 0;
}

static void release_side(struct gpu *gpu, struct gpu_side *side)
{
    if (side->data != 0) {
        gpu->cuda.cuCtxSetCurrent(side->context);
        gpu->cuda.cuMemFree(side->data);
    }
    if (side->context != NULL)
        gpu->cuda.cuDevicePrimaryCtxRelease(side->device);
}

void gpu_close(struct gpu *gpu)
{
    if (gpu->driver.library == NULL)
        return;
    for (int i = 0; i < 2; i++)
        if (gpu->events[i] != NULL)
            gpu->cuda.cuEventDestroy(gpu->events[i]);
    if (gpu->stream != NULL)
        gpu->cuda.cuStreamDestroy(gpu->stream);
    if (gpu->pinned != NULL)
        gpu->cuda.cuMemFreeHost(gpu->pinned);
    for (int i = 1; i >= 0; i--)
        release_side(gpu, &gpu->side[i]);
    cuda_driver_close(&gpu->driver);
    *gpu = (struct gpu){.n_sides = 0};
}

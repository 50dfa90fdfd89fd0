/* Contexts are the primary ones of the process, which its MPI shares; they are given back, not destroyed. */
#include "calibrate/gpu/gpu_memory.h"

#include <stdio.h>
#include <string.h>

enum { CUDA_PEER_ALREADY_ENABLED = 704 }; /* an MPI may have done so */

static int memory_find_functions(struct gpu *gpu, struct error *error)
{
    const struct {
        const char *name;
        size_t offset;
    } functions[] = {
#define MEMORY_ROW(name, type, ...) {#name, offsetof(struct cuda_copy, name)},
        CUDA_COPY_FUNCTIONS(MEMORY_ROW)
#undef MEMORY_ROW
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (cuda_driver_find(&gpu->driver, functions[i].name, (char *)&gpu->cuda + functions[i].offset, error) != 0)
            return -1;
    return 0;
}

int gpu_bus_id(struct gpu *gpu, int ordinal, char bus_id[GPU_BUS_ID_BYTES], struct error *error)
{
    int device, code = gpu->driver.cuDeviceGet(&device, ordinal);
    if (code != 0)
        return cuda_driver_refusal(&gpu->driver, "cuDeviceGet", code, error);
    GPU_CALL(gpu, cuDeviceGetPCIBusId, bus_id, GPU_BUS_ID_BYTES, device);
    return 0;
}

/* Finds the GPU with that bus id; NULL: the first two. */
static int find_sides(struct gpu *gpu, const char *bus_id, struct error *error)
{
    gpu->n_sides = gpu->driver.n_devices < 2 || bus_id != NULL ? 1 : 2;
    for (int i = 0; i < gpu->n_sides; i++) {
        struct gpu_device *side = &gpu->side[i];
        if (bus_id == NULL && gpu_bus_id(gpu, i, side->bus_id, error) != 0)
            return -1;
        if (bus_id != NULL)
            snprintf(side->bus_id, sizeof side->bus_id, "%s", bus_id);
        GPU_CALL(gpu, cuDeviceGetByPCIBusId, &side->device, side->bus_id);
    }
    return 0;
}

static int open_sides(struct gpu *gpu, const char *bus_id, struct error *error)
{
    *gpu = (struct gpu){.n_sides = 0};
    if (cuda_driver_open(&gpu->driver, error) != CUDA_DRIVER_FOUND)
        return -1;
    if (memory_find_functions(gpu, error) == 0 && find_sides(gpu, bus_id, error) == 0)
        return 0;
    gpu_close(gpu);
    return -1;
}

int gpu_open(struct gpu *gpu, struct error *error)
{
    return open_sides(gpu, NULL, error);
}

int gpu_open_at(struct gpu *gpu, const char *bus_id, struct error *error)
{
    return open_sides(gpu, bus_id, error);
}

/* Makes the GPU's context that of the thread. */
static int enter_side(struct gpu *gpu, struct gpu_device *side, struct error *error)
{
    if (side->context == NULL)
        GPU_CALL(gpu, cuDevicePrimaryCtxRetain, &side->context, side->device);
    GPU_CALL(gpu, cuCtxSetCurrent, side->context);
    return 0;
}

int gpu_enter(struct gpu *gpu, struct error *error)
{
    return enter_side(gpu, &gpu->side[0], error);
}

/* Takes what a copy needs besides memory on the GPU, whose context is the thread's. */
static int take_host(struct gpu *gpu, struct error *error)
{
    GPU_CALL(gpu, cuMemAllocHost, (void **)&gpu->pinned, gpu->bytes);
    memset(gpu->pinned, 1, gpu->bytes);
    GPU_CALL(gpu, cuStreamCreate, &gpu->stream, 0);
    for (int i = 0; i < 2; i++)
        GPU_CALL(gpu, cuEventCreate, &gpu->events[i], 0);
    return 0;
}

int gpu_take(struct gpu *gpu, size_t bytes, struct error *error)
{
    gpu->bytes = bytes;
    if (gpu_enter(gpu, error) != 0)
        return -1;
    GPU_CALL(gpu, cuMemAlloc, &gpu->side[0].data, bytes);
    return take_host(gpu, error);
}

int gpu_take_other_ends(struct gpu *gpu, struct error *error)
{
    int can = 0;
    GPU_CALL(gpu, cuMemAlloc, &gpu->twin, gpu->bytes);
    if (gpu->n_sides > 1)
        GPU_CALL(gpu, cuDeviceCanAccessPeer, &can, gpu->side[0].device, gpu->side[1].device);
    if (can == 0)
        return 0;
    if (enter_side(gpu, &gpu->side[1], error) != 0)
        return -1;
    GPU_CALL(gpu, cuMemAlloc, &gpu->side[1].data, gpu->bytes);
    if (gpu_enter(gpu, error) != 0)
        return -1;
    int code = gpu->cuda.cuCtxEnablePeerAccess(gpu->side[1].context, 0);
    if (code != 0 && code != CUDA_PEER_ALREADY_ENABLED)
        return cuda_driver_refusal(&gpu->driver, "cuCtxEnablePeerAccess", code, error);
    gpu->has_peer = true;
    return 0;
}

int gpu_share(struct gpu *gpu, struct cuda_ipc_handle *handle, struct error *error)
{
    if (gpu_enter(gpu, error) != 0)
        return -1;
    GPU_CALL(gpu, cuIpcGetMemHandle, handle, gpu->side[0].data);
    return 0;
}

int gpu_take_shared(struct gpu *gpu, const struct cuda_ipc_handle *handle, size_t bytes, struct error *error)
{
    gpu->bytes = bytes;
    if (gpu_enter(gpu, error) != 0)
        return -1;
    GPU_CALL(gpu, cuIpcOpenMemHandle, &gpu->side[0].data, *handle, CUDA_IPC_LAZY_ENABLE_PEER_ACCESS);
    gpu->side[0].is_shared = true;
    return take_host(gpu, error);
}

static void release_side(struct gpu *gpu, struct gpu_device *side)
{
    if (side->context == NULL)
        return;
    gpu->cuda.cuCtxSetCurrent(side->context);
    if (side->is_shared)
        gpu->cuda.cuIpcCloseMemHandle(side->data);
    else if (side->data != 0)
        gpu->cuda.cuMemFree(side->data);
    gpu->cuda.cuDevicePrimaryCtxRelease(side->device);
}

void gpu_close(struct gpu *gpu)
{
    struct error ignored;
    if (gpu->driver.library == NULL)
        return;
    if (gpu->side[0].context != NULL)
        (void)gpu_enter(gpu, &ignored);
    for (int i = 0; i < 2; i++)
        if (gpu->events[i] != NULL)
            gpu->cuda.cuEventDestroy(gpu->events[i]);
    if (gpu->stream != NULL)
        gpu->cuda.cuStreamDestroy(gpu->stream);
    if (gpu->pinned != NULL)
        gpu->cuda.cuMemFreeHost(gpu->pinned);
    if (gpu->twin != 0)
        gpu->cuda.cuMemFree(gpu->twin);
    for (int i = 1; i >= 0; i--)
        release_side(gpu, &gpu->side[i]);
    cuda_driver_close(&gpu->driver);
    *gpu = (struct gpu){.n_sides = 0};
}

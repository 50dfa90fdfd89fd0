/* The library is asked for its version first, which every version answers; one that is too old is refused before
 * functions are looked up.
 *
 * Contexts are the primary ones of the process, which its MPI shares; they are given back, not destroyed. hwloc reads
 * PCI devices only where it is asked to. */
#include "calibrate/gpu/gpu_memory.h"

#include <dlfcn.h>
#include <hwloc.h>
#include <stdio.h>
#include <string.h>

#include "share/base/monotonic.h"

/* First version with cuGetProcAddress, whose functions are asked for as that version had them. */
enum { OLDEST_VERSION = 11030 };

typedef int get_version(int *version);
typedef int get_address(const char *name, void **function, int version, uint64_t flags);

/* Finds a function by the loader. memcpy, since C has no cast from data to functions. */
static int look_up(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL ? 0 : -1;
}

/* Finds all functions as the oldest version had them; *missing is the name of the first that the driver lacks. */
static int find_functions(struct cuda_driver *driver, const char **missing)
{
    const struct {
        const char *name;
        size_t offset;
    } functions[] = {
#define ROW(name, type, ...) {#name, offsetof(struct cuda_driver, name)},
        CUDA_DRIVER_FUNCTIONS(ROW) CUDA_COPY_FUNCTIONS(ROW)
#undef ROW
    };
    get_address *address;
    *missing = "cuGetProcAddress";
    if (look_up(driver->library, *missing, &address) != 0)
        return -1;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *found = NULL;
        *missing = functions[i].name;
        if (address(*missing, &found, OLDEST_VERSION, 0) != 0 || found == NULL)
            return -1;
        memcpy((char *)driver + functions[i].offset, &found, sizeof found);
    }
    return 0;
}

static int old(const struct cuda_driver *driver, const char *missing, struct error *error)
{
    return error_set(error, "the NVIDIA driver is of CUDA %d.%d%s%s: expected %d.%d or later, update it",
                     driver->version / 1000, driver->version % 1000 / 10, missing != NULL ? " and lacks " : "",
                     missing != NULL ? missing : "", OLDEST_VERSION / 1000, OLDEST_VERSION % 1000 / 10);
}

int cuda_driver_refusal(const struct cuda_driver *driver, const char *call, int code, struct error *error)
{
    const char *name = NULL;
    if (driver->cuGetErrorName(code, &name) != 0 || name == NULL)
        name = "an unknown error";
    return error_set(error, "the NVIDIA driver refuses %s with %s (%d): 'nvidia-smi' and the kernel's log may say more",
                     call, name, code);
}

static int driver_start(struct cuda_driver *driver, struct error *error)
{
    get_version *version;
    const char *missing;
    driver->is_mock = dlsym(driver->library, "mpistair_mock_cuda") != NULL;
    if (look_up(driver->library, "cuDriverGetVersion", &version) != 0 || version(&driver->version) != 0) {
        error_set(error, CUDA_LIBRARY " does not report its version: expected that of an NVIDIA driver");
        return CUDA_DRIVER_ABSENT;
    }
    if (driver->version < OLDEST_VERSION)
        return old(driver, NULL, error);
    if (find_functions(driver, &missing) != 0)
        return old(driver, missing, error);
    int code = driver->cuInit(0);
    if (code != 0)
        return cuda_driver_refusal(driver, "cuInit", code, error);
    code = driver->cuDeviceGetCount(&driver->n_devices);
    if (code != 0)
        return cuda_driver_refusal(driver, "cuDeviceGetCount", code, error);
    if (driver->n_devices > 0)
        return CUDA_DRIVER_FOUND;
    return error_set(error, "the NVIDIA driver sees no GPU: CUDA_VISIBLE_DEVICES may hide it, or the job has none");
}

enum cuda_driver_state cuda_driver_open(struct cuda_driver *driver, struct error *error)
{
    *driver = (struct cuda_driver){.library = dlopen(CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL)};
    if (driver->library == NULL) {
        error_set(error, "no NVIDIA driver: %s", dlerror());
        return CUDA_DRIVER_ABSENT;
    }
    enum cuda_driver_state state = (enum cuda_driver_state)driver_start(driver, error);
    if (state != CUDA_DRIVER_FOUND)
        cuda_driver_close(driver);
    return state;
}

void cuda_driver_close(struct cuda_driver *driver)
{
    dlclose(driver->library);
    driver->library = NULL;
}

enum { CUDA_PEER_ALREADY_ENABLED = 704 }; /* an MPI may have done so */

int gpu_bus_id(struct gpu *gpu, int ordinal, char bus_id[GPU_BUS_ID_BYTES], struct error *error)
{
    int device;
    GPU_CALL(gpu, cuDeviceGet, &device, ordinal);
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

int gpu_open(struct gpu *gpu, const char *bus_id, struct error *error)
{
    *gpu = (struct gpu){.n_sides = 0};
    if (cuda_driver_open(&gpu->driver, error) != CUDA_DRIVER_FOUND)
        return -1;
    if (find_sides(gpu, bus_id, error) == 0)
        return 0;
    gpu_close(gpu);
    return -1;
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
    int code = gpu->driver.cuCtxEnablePeerAccess(gpu->side[1].context, 0);
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
    gpu->driver.cuCtxSetCurrent(side->context);
    if (side->is_shared)
        gpu->driver.cuIpcCloseMemHandle(side->data);
    else if (side->data != 0)
        gpu->driver.cuMemFree(side->data);
    gpu->driver.cuDevicePrimaryCtxRelease(side->device);
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
            gpu->driver.cuEventDestroy(gpu->events[i]);
    if (gpu->stream != NULL)
        gpu->driver.cuStreamDestroy(gpu->stream);
    if (gpu->pinned != NULL)
        gpu->driver.cuMemFreeHost(gpu->pinned);
    if (gpu->twin != 0)
        gpu->driver.cuMemFree(gpu->twin);
    for (int i = 1; i >= 0; i--)
        release_side(gpu, &gpu->side[i]);
    cuda_driver_close(&gpu->driver);
    *gpu = (struct gpu){.n_sides = 0};
}

static int copy_start(struct gpu *gpu, enum gpu_copy_way way, char *host, size_t offset, size_t bytes,
                      struct error *error)
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
static int copy_between_events(struct gpu *gpu, enum gpu_copy_way way, char *host, size_t offset, size_t bytes,
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

int gpu_copy(struct gpu *gpu, enum gpu_copy_way way, bool by_events, char *host, size_t offset, size_t bytes,
             int repeats, double *seconds, struct error *error)
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

static int find(hwloc_topology_t topology, const char *bus_id)
{
    hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, bus_id);
    hwloc_obj_t near = device != NULL ? hwloc_get_non_io_ancestor_obj(topology, device) : NULL;
    int n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
    for (int i = 0; near != NULL && near->cpuset != NULL && i < n; i++)
        if (hwloc_bitmap_isincluded(near->cpuset,
                                    hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, (unsigned)i)->cpuset))
            return i;
    return -1;
}

int gpu_socket(const char *bus_id)
{
    hwloc_topology_t topology;
    int socket = -1;
    if (hwloc_topology_init(&topology) != 0)
        return -1;
    if (hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) == 0 &&
        hwloc_topology_load(topology) == 0)
        socket = find(topology, bus_id);
    hwloc_topology_destroy(topology);
    return socket;
}

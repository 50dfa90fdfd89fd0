/* Stands in for what the driver needs to copy: memory of a GPU is memory of the host, a copy is over when it is called,
 * and an event is a look at the clock. A copy out of bounds of its memory is refused, as is one to an unknown context.
 * MOCK_CUDA=one has one device, =apart two that cannot reach each other, =broken refuses to copy, =full has no memory,
 * =spoiled zeroes the first byte of what it copies from a GPU, =no-ipc shares none, =no-ipc-open opens none. */
#include "tests/mock_cuda/mock_blocks.h"
#include "tests/mock_cuda/mock_copies.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INVALID = 1, NO_MEMORY = 2, DEVICES = 2 };

static int contexts[DEVICES];
static int *current;

static int bus_id(char *text, int size, int device)
{
    snprintf(text, (size_t)size, "0000:%02x:00.0", 0xe0 + device);
    return 0;
}

static int device_of(int *device, const char *text)
{
    char known[16];
    for (*device = 0; *device < DEVICES; ++*device) {
        bus_id(known, sizeof known, *device);
        if (strcmp(known, text) == 0)
            return 0;
    }
    return INVALID;
}

static int retain(void **context, int device)
{
    *context = &contexts[device];
    return device >= 0 && device < DEVICES ? 0 : INVALID;
}

static int release(int device)
{
    return device >= 0 && device < DEVICES ? 0 : INVALID;
}

static int can_access(int *can, int device, int peer)
{
    *can = device != peer && !mock_is("apart");
    return 0;
}

static int set_current(void *context)
{
    current = context;
    return 0;
}

static int enable_peer(void *peer, unsigned flags)
{
    return peer != NULL && peer != current && flags == 0 ? 0 : INVALID;
}

static int allocate(uint64_t *address, size_t bytes)
{
    return current != NULL ? mock_allocate(address, bytes) : INVALID;
}

static int open_handle(uint64_t *address, struct cuda_ipc_handle handle, unsigned flags)
{
    return current != NULL ? mock_open_handle(address, handle, flags) : INVALID;
}

static int allocate_host(void **address, size_t bytes)
{
    *address = malloc(bytes);
    return *address != NULL ? 0 : NO_MEMORY;
}

static int free_host(void *address)
{
    free(address);
    return 0;
}

static int copy_to(uint64_t to, const void *from, size_t bytes, void *stream)
{
    if (stream == NULL || mock_is("broken") || !mock_holds(to, bytes))
        return INVALID;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

static int copy_from(void *to, uint64_t from, size_t bytes, void *stream)
{
    if (stream == NULL || mock_is("broken") || !mock_holds(from, bytes))
        return INVALID;
    memcpy(to, (void *)(uintptr_t)from, bytes);
    if (mock_is("spoiled") && bytes > 1)
        *(char *)to = 0;
    return 0;
}

static int copy_peer(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes, void *stream)
{
    if (to_context != &contexts[1] || from_context != &contexts[0] || !mock_holds(from, bytes))
        return INVALID;
    return copy_to(to, (void *)(uintptr_t)from, bytes, stream);
}

static int copy_within(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    return mock_holds(from, bytes) ? copy_to(to, (void *)(uintptr_t)from, bytes, stream) : INVALID;
}

static int make_stream(void **stream, unsigned flags)
{
    *stream = malloc(1);
    return flags == 0 && *stream != NULL ? 0 : NO_MEMORY;
}

static int synchronize(void *stream)
{
    return stream != NULL ? 0 : INVALID;
}

static int make_event(void **event, unsigned flags)
{
    *event = calloc(1, sizeof(struct timespec));
    return flags == 0 && *event != NULL ? 0 : NO_MEMORY;
}

static int record(void *event, void *stream)
{
    return stream != NULL && clock_gettime(CLOCK_MONOTONIC, event) == 0 ? 0 : INVALID;
}

static int elapsed(float *milliseconds, void *begin, void *end)
{
    const struct timespec *from = begin, *to = end;
    *milliseconds =
        (float)(1e3 * (double)(to->tv_sec - from->tv_sec) + 1e-6 * (double)(to->tv_nsec - from->tv_nsec) + 1e-6);
    return 0;
}

mock_function *mock_copies_find(const char *name)
{
    static const struct {
        const char *name;
        mock_function *function;
    } known[] = {{"cuDeviceGetPCIBusId", (mock_function *)bus_id},
                 {"cuDeviceGetByPCIBusId", (mock_function *)device_of},
                 {"cuDevicePrimaryCtxRetain", (mock_function *)retain},
                 {"cuDevicePrimaryCtxRelease", (mock_function *)release},
                 {"cuDeviceCanAccessPeer", (mock_function *)can_access},
                 {"cuCtxSetCurrent", (mock_function *)set_current},
                 {"cuCtxEnablePeerAccess", (mock_function *)enable_peer},
                 {"cuMemAlloc", (mock_function *)allocate},
                 {"cuMemFree", (mock_function *)mock_deallocate},
                 {"cuMemAllocHost", (mock_function *)allocate_host},
                 {"cuMemFreeHost", (mock_function *)free_host},
                 {"cuMemcpyHtoDAsync", (mock_function *)copy_to},
                 {"cuMemcpyDtoHAsync", (mock_function *)copy_from},
                 {"cuMemcpyDtoDAsync", (mock_function *)copy_within},
                 {"cuIpcGetMemHandle", (mock_function *)mock_get_handle},
                 {"cuIpcOpenMemHandle", (mock_function *)open_handle},
                 {"cuIpcCloseMemHandle", (mock_function *)mock_close_handle},
                 {"cuMemcpyPeerAsync", (mock_function *)copy_peer},
                 {"cuStreamCreate", (mock_function *)make_stream},
                 {"cuStreamDestroy", (mock_function *)free_host},
                 {"cuStreamSynchronize", (mock_function *)synchronize},
                 {"cuEventCreate", (mock_function *)make_event},
                 {"cuEventDestroy", (mock_function *)free_host},
                 {"cuEventRecord", (mock_function *)record},
                 {"cuEventElapsedTime", (mock_function *)elapsed}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].function;
    return NULL;
}

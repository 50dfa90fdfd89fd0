/* Stands in for what the driver needs to copy: memory of a GPU is memory of the host, a copy is over when it is called,
 * and an event is a look at the clock. A copy out of bounds of its memory is refused, as is one to an unknown context.
 * MOCK_CUDA=one has one device, =apart two that cannot reach each other, =broken refuses to copy, =full has no memory.
 */
#include "tests/mock_cuda/mock_copies.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INVALID = 1, NO_MEMORY = 2, BLOCKS_MAX = 8, DEVICES = 2 };

struct block {
    char *data;
    size_t bytes;
};

static struct block blocks[BLOCKS_MAX];
static int contexts[DEVICES];
static int *current;

static int is(const char *state)
{
    const char *wanted = getenv("MOCK_CUDA");
    return wanted != NULL && strcmp(wanted, state) == 0;
}

static int holds(uint64_t address, size_t bytes)
{
    for (int i = 0; i < BLOCKS_MAX; i++)
        if (blocks[i].data != NULL && address >= (uint64_t)(uintptr_t)blocks[i].data &&
            address + bytes <= (uint64_t)(uintptr_t)blocks[i].data + blocks[i].bytes)
            return 1;
    return 0;
}

static int bus_id(char *text, int size, int device)
{
    snprintf(text, (size_t)size, "0000:%02x:00.0", 0xe0 + device);
    return 0;
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
    *can = device != peer && !is("apart");
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
    int i = 0;
    while (i < BLOCKS_MAX && blocks[i].data != NULL)
        i++;
    if (current == NULL || i == BLOCKS_MAX || is("full") || (blocks[i].data = malloc(bytes)) == NULL)
        return NO_MEMORY;
    blocks[i].bytes = bytes;
    *address = (uint64_t)(uintptr_t)blocks[i].data;
    return 0;
}

static int deallocate(uint64_t address)
{
    for (int i = 0; i < BLOCKS_MAX; i++) {
        if ((uint64_t)(uintptr_t)blocks[i].data != address)
            continue;
        free(blocks[i].data);
        blocks[i].data = NULL;
        return 0;
    }
    return INVALID;
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
    if (stream == NULL || is("broken") || !holds(to, bytes))
        return INVALID;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

static int copy_from(void *to, uint64_t from, size_t bytes, void *stream)
{
    if (stream == NULL || is("broken") || !holds(from, bytes))
        return INVALID;
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return 0;
}

static int copy_peer(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes, void *stream)
{
    if (to_context != &contexts[1] || from_context != &contexts[0] || !holds(from, bytes))
        return INVALID;
    return copy_to(to, (void *)(uintptr_t)from, bytes, stream);
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
                 {"cuDevicePrimaryCtxRetain", (mock_function *)retain},
                 {"cuDevicePrimaryCtxRelease", (mock_function *)release},
                 {"cuDeviceCanAccessPeer", (mock_function *)can_access},
                 {"cuCtxSetCurrent", (mock_function *)set_current},
                 {"cuCtxEnablePeerAccess", (mock_function *)enable_peer},
                 {"cuMemAlloc", (mock_function *)allocate},
                 {"cuMemFree", (mock_function *)deallocate},
                 {"cuMemAllocHost", (mock_function *)allocate_host},
                 {"cuMemFreeHost", (mock_function *)free_host},
                 {"cuMemcpyHtoDAsync", (mock_function *)copy_to},
                 {"cuMemcpyDtoHAsync", (mock_function *)copy_from},
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

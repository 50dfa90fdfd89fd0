/* Plays the memory of NVIDIA's driver: kinds of allocations, contexts, and what it answers about an address. Device
 * memory is that of the host. A freed address is given to the next allocation of its size, as drivers do. It measures
 * nothing. */
#include "tests/mock_cuda/mock_blocks.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { SUCCESS = 0, INVALID = 1, NOT_INITIALIZED = 3, DEINITIALIZED = 4, NO_CONTEXT = 201 };
enum { TYPE_HOST = 1, TYPE_DEVICE = 2 };
enum { ATTRIBUTE_TYPE = 2, ATTRIBUTE_NUMBER = 7, ATTRIBUTE_MANAGED = 8, ATTRIBUTE_GPU = 9 };
enum { N_ALLOCATIONS = 256 };

int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxDestroy_v2(void *context);
int cuCtxGetCurrent(void **context);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags);
int cuMemAllocHost_v2(void **address, size_t bytes);
int cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags);
int cuMemHostUnregister(void *address);
int cuMemFree_v2(uint64_t address);
int cuMemFreeHost(void *address);
int cuPointerGetAttributes(unsigned n, const int *attributes, void **values, uint64_t address);
void mock_cuda_fail(int error);
long mock_cuda_asked(void);

static struct allocation {
    uint64_t address; /* 0: free */
    size_t bytes;
    uint64_t number; /* 0: registered memory, which has none */
    int type, managed, gpu, own;
} allocations[N_ALLOCATIONS];
static int n_places; /* of these, so many have been used: an answer is as fast as a driver's may be */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    void *memory;
    size_t bytes;
} freed; /* the last one */
static uint64_t n_numbers;
static long n_asked;
static int failure;
static _Thread_local int current = -1; /* device of the thread's context */
static int devices[64];

/* Makes all functions fail from now on; 0 ends that. */
void mock_cuda_fail(int error)
{
    failure = error;
}

/* Returns how often attributes were asked for. */
long mock_cuda_asked(void)
{
    pthread_mutex_lock(&lock);
    long asked = n_asked;
    pthread_mutex_unlock(&lock);
    return asked;
}

int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    if (failure || flags != 0 || device < 0 || device >= 64)
        return failure ? failure : INVALID;
    mock_initialized = 1; /* programs that look for no GPU call nothing else first */
    current = device;
    *context = &devices[device];
    return SUCCESS;
}

/* Frees all of the context's device, as a reset does. */
int cuCtxDestroy_v2(void *context)
{
    long device = (int *)context - devices;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < N_ALLOCATIONS; i++) {
        struct allocation *one = &allocations[i];
        if (one->address == 0 || one->gpu != device)
            continue;
        if (one->own)
            free((void *)(uintptr_t)one->address);
        *one = (struct allocation){0};
    }
    pthread_mutex_unlock(&lock);
    current = -1;
    return SUCCESS;
}

int cuCtxGetCurrent(void **context)
{
    if (!mock_initialized)
        return NOT_INITIALIZED;
    *context = current < 0 ? NULL : &devices[current];
    return failure;
}

static int keep(void *memory, size_t bytes, int type, int managed, int own)
{
    for (int i = 0; i < N_ALLOCATIONS; i++)
        if (allocations[i].address == 0) {
            n_places = i < n_places ? n_places : i + 1;
            allocations[i] = (struct allocation){
                (uint64_t)(uintptr_t)memory, bytes, own ? ++n_numbers : 0, type, managed, current, own};
            return SUCCESS;
        }
    return INVALID;
}

static int allocate(void **memory, size_t bytes, int type, int managed)
{
    if (failure || current < 0)
        return failure ? failure : NO_CONTEXT;
    pthread_mutex_lock(&lock);
    *memory = freed.bytes == bytes ? freed.memory : calloc(1, bytes);
    if (freed.bytes == bytes)
        freed.bytes = 0;
    int result = keep(*memory, bytes, type, managed, 1);
    pthread_mutex_unlock(&lock);
    return result;
}

static int release(uint64_t address, int own)
{
    int result = INVALID;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < N_ALLOCATIONS; i++) {
        if (allocations[i].address != address || allocations[i].own != own)
            continue;
        if (own && freed.bytes != 0)
            free(freed.memory);
        if (own) {
            freed.memory = (void *)(uintptr_t)address;
            freed.bytes = allocations[i].bytes;
        }
        allocations[i] = (struct allocation){0};
        result = SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    void *memory;
    int result = allocate(&memory, bytes, TYPE_DEVICE, 0);
    *address = result == SUCCESS ? (uint64_t)(uintptr_t)memory : 0;
    return result;
}

int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags)
{
    void *memory;
    int result = flags != 1 ? INVALID : allocate(&memory, bytes, TYPE_DEVICE, 1);
    *address = result == SUCCESS ? (uint64_t)(uintptr_t)memory : 0;
    return result;
}

int cuMemAllocHost_v2(void **address, size_t bytes)
{
    return allocate(address, bytes, TYPE_HOST, 0);
}

int cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags)
{
    pthread_mutex_lock(&lock);
    int result = flags != 0 ? INVALID : keep(address, bytes, TYPE_HOST, 0, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

int cuMemHostUnregister(void *address)
{
    return release((uint64_t)(uintptr_t)address, 0);
}

int cuMemFree_v2(uint64_t address)
{
    return release(address, 1);
}

int cuMemFreeHost(void *address)
{
    return release((uint64_t)(uintptr_t)address, 1);
}

static void answer(const struct allocation *known, int attribute, void *value)
{
    if (attribute == ATTRIBUTE_NUMBER)
        *(uint64_t *)value = known->number;
    else if (attribute == ATTRIBUTE_TYPE)
        *(unsigned *)value = (unsigned)known->type;
    else if (attribute == ATTRIBUTE_MANAGED)
        *(unsigned *)value = (unsigned)known->managed;
    else if (attribute == ATTRIBUTE_GPU)
        *(int *)value = known->gpu;
}

int cuPointerGetAttributes(unsigned n, const int *attributes, void **values, uint64_t address)
{
    static const struct allocation unknown = {.gpu = -2};
    if (!mock_initialized)
        return NOT_INITIALIZED;
    pthread_mutex_lock(&lock);
    n_asked++;
    const struct allocation *known = &unknown;
    for (int i = 0; i < n_places; i++)
        if (allocations[i].address != 0 && address - allocations[i].address < allocations[i].bytes)
            known = &allocations[i];
    for (unsigned i = 0; failure == 0 && i < n; i++)
        answer(known, attributes[i], values[i]);
    pthread_mutex_unlock(&lock);
    return failure;
}

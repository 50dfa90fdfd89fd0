/* Declares the functions of NVIDIA's driver that mpistair calls, after NVIDIA's CUDA Driver API reference. Neither its
 * headers nor its library are needed to build. All return 0, or the number of an error. */
#ifndef MPISTAIR_BASE_CUDA_FUNCTIONS_H
#define MPISTAIR_BASE_CUDA_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#define CUDA_LIBRARY "libcuda.so.1"

/* F(name, result, parameters ...): functions that find the GPUs. */
#define CUDA_DRIVER_FUNCTIONS(F)                                                                                       \
    F(cuInit, int, unsigned flags)                                                                                     \
    F(cuDeviceGetCount, int, int *count)                                                                               \
    F(cuDeviceGet, int, int *device, int ordinal)                                                                      \
    F(cuDeviceGetName, int, char *name, int size, int device)                                                          \
    F(cuGetErrorName, int, int error, const char **name)

/* F(name, result, parameters ...): functions that find out where a buffer lies. */
#define CUDA_MEMORY_FUNCTIONS(F)                                                                                       \
    F(cuCtxGetCurrent, int, void **context)                                                                            \
    F(cuPointerGetAttributes, int, unsigned n, const int *attributes, void **values, uint64_t address)

/* F(name, result, parameters ...): functions that copy. A context, a stream and an event are pointers, an address on a
 * GPU has 64 bits. */
#define CUDA_COPY_FUNCTIONS(F)                                                                                         \
    F(cuDeviceGetPCIBusId, int, char *text, int size, int device)                                                      \
    F(cuDeviceGetByPCIBusId, int, int *device, const char *text)                                                       \
    F(cuDevicePrimaryCtxRetain, int, void **context, int device)                                                       \
    F(cuDevicePrimaryCtxRelease, int, int device)                                                                      \
    F(cuDeviceCanAccessPeer, int, int *can, int device, int peer)                                                      \
    F(cuCtxSetCurrent, int, void *context)                                                                             \
    F(cuCtxEnablePeerAccess, int, void *peer, unsigned flags)                                                          \
    F(cuMemAlloc, int, uint64_t *address, size_t bytes)                                                                \
    F(cuMemFree, int, uint64_t address)                                                                                \
    F(cuMemAllocHost, int, void **address, size_t bytes)                                                               \
    F(cuMemFreeHost, int, void *address)                                                                               \
    F(cuMemcpyHtoDAsync, int, uint64_t to, const void *from, size_t bytes, void *stream)                               \
    F(cuMemcpyDtoHAsync, int, void *to, uint64_t from, size_t bytes, void *stream)                                     \
    F(cuMemcpyDtoDAsync, int, uint64_t to, uint64_t from, size_t bytes, void *stream)                                  \
    F(cuMemcpyPeerAsync, int, uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes,          \
      void *stream)                                                                                                    \
    F(cuStreamCreate, int, void **stream, unsigned flags)                                                              \
    F(cuStreamDestroy, int, void *stream)                                                                              \
    F(cuStreamSynchronize, int, void *stream)                                                                          \
    F(cuEventCreate, int, void **event, unsigned flags)                                                                \
    F(cuEventDestroy, int, void *event)                                                                                \
    F(cuEventRecord, int, void *event, void *stream)                                                                   \
    F(cuEventElapsedTime, int, float *milliseconds, void *begin, void *end)                                            \
    F(cuIpcGetMemHandle, int, struct cuda_ipc_handle *handle, uint64_t address)                                        \
    F(cuIpcOpenMemHandle, int, uint64_t *address, struct cuda_ipc_handle handle, unsigned flags)                       \
    F(cuIpcCloseMemHandle, int, uint64_t address)

/* Handle by which another process maps this one's memory. */
struct cuda_ipc_handle {
    char reserved[64];
};

enum { CUDA_IPC_LAZY_ENABLE_PEER_ACCESS = 1 };

/* Attributes of an address. A value has at most eight bytes. */
enum cuda_pointer_attribute {
    CUDA_POINTER_MEMORY_TYPE = 2, /* enum cuda_memory_type; unchanged where the driver does not know the address */
    CUDA_POINTER_ALLOCATION = 7,  /* number of the allocation (BUFFER_ID), never used again in the process */
    CUDA_POINTER_IS_MANAGED = 8,
    CUDA_POINTER_GPU = 9, /* ordinal */
};

enum cuda_memory_type { CUDA_MEMORY_HOST = 1, CUDA_MEMORY_DEVICE = 2 };

/* A pointer of the function's name, as a member of a struct. */
#define CUDA_MEMBER(name, type, ...) type (*name)(__VA_ARGS__);

#endif

/* Declares the functions of NVIDIA's driver that mpistair calls, after NVIDIA's CUDA Driver API reference. Neither its
 * headers nor its library are needed to build. All return 0, or the number of an error. */
#ifndef MPISTAIR_BASE_CUDA_FUNCTIONS_H
#define MPISTAIR_BASE_CUDA_FUNCTIONS_H

#include <stdint.h>

#define CUDA_LIBRARY "libcuda.so.1"

/* F(name, result, parameters ...): what finds the GPUs. */
#define CUDA_DRIVER_FUNCTIONS(F)                                                                                       \
    F(cuInit, int, unsigned flags)                                                                                     \
    F(cuDeviceGetCount, int, int *count)                                                                               \
    F(cuDeviceGet, int, int *device, int ordinal)                                                                      \
    F(cuDeviceGetName, int, char *name, int size, int device)                                                          \
    F(cuGetErrorName, int, int error, const char **name)

/* F(name, result, parameters ...): what tells where a buffer lies. */
#define CUDA_MEMORY_FUNCTIONS(F)                                                                                       \
    F(cuCtxGetCurrent, int, void **context)                                                                            \
    F(cuPointerGetAttributes, int, unsigned n, const int *attributes, void **values, uint64_t address)

/* Names the attributes of an address. A value has at most eight bytes. */
enum cuda_pointer_attribute {
    CUDA_POINTER_MEMORY_TYPE = 2, /* enum cuda_memory_type; left alone where the driver does not know the address */
    CUDA_POINTER_ALLOCATION = 7,  /* number of the allocation (BUFFER_ID), never used again in the process */
    CUDA_POINTER_IS_MANAGED = 8,
    CUDA_POINTER_GPU = 9, /* ordinal */
};

enum cuda_memory_type { CUDA_MEMORY_HOST = 1, CUDA_MEMORY_DEVICE = 2 };

/* Declares a pointer of the function's name, as a member of a struct. */
#define CUDA_MEMBER(name, type, ...) type (*name)(__VA_ARGS__);

#endif

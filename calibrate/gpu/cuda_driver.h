/* Finds NVIDIA's driver at run time. Neither its headers nor its library are needed to build, and nothing but who asks
 * for GPUs opens it; the recorder never does. Prototypes are those of NVIDIA's CUDA Driver API reference. */
#ifndef MPISTAIR_CALIBRATE_CUDA_DRIVER_H
#define MPISTAIR_CALIBRATE_CUDA_DRIVER_H

#include "share/base/error.h"

/* The functions of the driver return 0, or the number of an error. */
#define CUDA_DRIVER_FUNCTIONS(F)                                                                                       \
    F(cuInit, int, unsigned flags)                                                                                     \
    F(cuDeviceGetCount, int, int *count)                                                                               \
    F(cuDeviceGet, int, int *device, int ordinal)                                                                      \
    F(cuDeviceGetName, int, char *name, int size, int device)                                                          \
    F(cuGetErrorName, int, int error, const char **name)

struct cuda_driver {
    void *library;
    int version; /* 1000 major + 10 minor, of the CUDA that the driver knows */
    int n_devices;
#define CUDA_DRIVER_MEMBER(name, type, ...) type (*name)(__VA_ARGS__);
    CUDA_DRIVER_FUNCTIONS(CUDA_DRIVER_MEMBER)
#undef CUDA_DRIVER_MEMBER
};

/* Says why there is no GPU to be used. */
enum cuda_driver_state {
    CUDA_DRIVER_FOUND,
    CUDA_DRIVER_ABSENT,    /* there is no libcuda.so.1, or it is none */
    CUDA_DRIVER_OLD,       /* it has no cuGetProcAddress, or lacks one of the functions */
    CUDA_DRIVER_REFUSED,   /* its initialisation failed */
    CUDA_DRIVER_NO_DEVICE, /* it sees no GPU */
};

/* Opens the driver and initialises it; makes no context. Returns CUDA_DRIVER_FOUND, or what is wrong with a reason of
 * one line in error and nothing left open. */
enum cuda_driver_state cuda_driver_open(struct cuda_driver *driver, struct error *error);
void cuda_driver_close(struct cuda_driver *driver);

#endif

/* Finds NVIDIA's driver at run time. Neither its headers nor its library are needed to build. Only commands that ask
 * for GPUs open it; the recorder never does. */
#ifndef MPISTAIR_CALIBRATE_CUDA_DRIVER_H
#define MPISTAIR_CALIBRATE_CUDA_DRIVER_H

#include <stdbool.h>

#include "share/base/cuda_functions.h"
#include "share/base/error.h"

struct cuda_driver {
    void *library;
    int version; /* 1000 major + 10 minor, of the CUDA that the driver knows */
    int n_devices;
    bool is_mock; /* the mock of the tests, whose times are of no machine */
    CUDA_DRIVER_FUNCTIONS(CUDA_MEMBER)
};

/* Why no GPU can be used. */
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
/* Finds one more function by its name without a version's suffix, and stores its address into *function, a pointer to a
 * function. Returns 0, or -1 with the reason where the driver has none. */
int cuda_driver_find(const struct cuda_driver *driver, const char *name, void *function, struct error *error);
/* Sets the error of a call that was refused: `CALL with NAME (code)`. Returns -1. */
int cuda_driver_refusal(const struct cuda_driver *driver, const char *call, int code, struct error *error);
void cuda_driver_close(struct cuda_driver *driver);

#endif

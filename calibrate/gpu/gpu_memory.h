/* Finds NVIDIA's driver at run time: neither its headers nor its library are needed to build. Only commands that ask
 * for GPUs open it; the recorder never does.
 *
 * Takes memory on a GPU, of its own or of another process, and what copies need; copies bytes between a GPU and its
 * host, within a GPU, and between two GPUs, and times each copy by the wall clock or by the GPU's own events (Bienz
 * 2021, Table II); finds the socket of a GPU. Knows neither MPI nor samples. */
#ifndef MPISTAIR_CALIBRATE_GPU_MEMORY_H
#define MPISTAIR_CALIBRATE_GPU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/cuda_functions.h"
#include "share/base/error.h"

struct cuda_driver {
    void *library;
    int version; /* 1000 major + 10 minor, of the CUDA that the driver knows */
    int n_devices;
    bool is_mock; /* the mock of the tests, whose times are of no machine */
    CUDA_DRIVER_FUNCTIONS(CUDA_MEMBER)
    CUDA_COPY_FUNCTIONS(CUDA_MEMBER)
};

/* Why no GPU can be used. */
enum cuda_driver_state {
    CUDA_DRIVER_FOUND = 0,
    CUDA_DRIVER_ABSENT,       /* there is no libcuda.so.1, or it is none */
    CUDA_DRIVER_REFUSED = -1, /* it lacks a function, its initialisation failed, or it sees no GPU */
};

/* Opens the driver and initialises it; makes no context. Returns CUDA_DRIVER_FOUND, or what is wrong with a reason of
 * one line in error and nothing left open. */
enum cuda_driver_state cuda_driver_open(struct cuda_driver *driver, struct error *error);
/* Sets the error of a call that was refused: `CALL with NAME (code)`. Returns -1. */
int cuda_driver_refusal(const struct cuda_driver *driver, const char *call, int code, struct error *error);
void cuda_driver_close(struct cuda_driver *driver);

/* Unit of shared memory, B: in other sizes the driver shares what lies beside it as well. */
enum { GPU_BUS_ID_BYTES = 32, GPU_SHARED_UNIT_BYTES = 2 << 20 };

/* Memory on a GPU. */
struct gpu_device {
    int device;
    char bus_id[GPU_BUS_ID_BYTES]; /* domain:bus:device.function */
    void *context;
    uint64_t data;
    bool is_shared; /* it is another process's */
};

struct gpu {
    struct cuda_driver driver;
    int n_sides;               /* 2 where there is another GPU */
    struct gpu_device side[2]; /* the GPU, and the next one that the process sees */
    bool has_peer;             /* the second has data, and the first can reach it */
    uint64_t twin;             /* on the first GPU as well, as many bytes: the other end of copies within it; 0: none */
    void *stream;
    void *events[2];
    char *pinned; /* [bytes] */
    size_t bytes;
};

/* Calls a function of the driver; returns from the caller with -1 and the reason where it is refused. */
#define GPU_CALL(gpu, name, ...)                                                                                       \
    do {                                                                                                               \
        int code_ = (gpu)->driver.name(__VA_ARGS__);                                                                   \
        if (code_ != 0)                                                                                                \
            return cuda_driver_refusal(&(gpu)->driver, #name, code_, error);                                           \
    } while (0)

/* Opens the driver and finds the GPU with that bus id, or (NULL) the first two; makes no context. Each function returns
 * 0, or -1 with the reason, of one line, in error; this one leaves nothing open then, the next ones what they got, for
 * gpu_close. */
int gpu_open(struct gpu *gpu, const char *bus_id, struct error *error);
/* Writes the bus id of any GPU that the process sees, from 0 to driver.n_devices - 1. */
int gpu_bus_id(struct gpu *gpu, int ordinal, char bus_id[GPU_BUS_ID_BYTES], struct error *error);

/* Takes so many bytes on the first GPU and on the host, pinned where the calling thread runs. */
int gpu_take(struct gpu *gpu, size_t bytes, struct error *error);
/* Takes as many once more on the first GPU, and on the second one where the first can reach it. */
int gpu_take_other_ends(struct gpu *gpu, struct error *error);
/* Lets another process take the memory of the first GPU by gpu_take_shared, instead of gpu_take. It closes its gpu
 * before this one is closed. */
int gpu_share(struct gpu *gpu, struct cuda_ipc_handle *handle, struct error *error);
int gpu_take_shared(struct gpu *gpu, const struct cuda_ipc_handle *handle, size_t bytes, struct error *error);
/* Makes the first GPU's context that of the calling thread. */
int gpu_enter(struct gpu *gpu, struct error *error);
/* Gives all back; does nothing where nothing is open. */
void gpu_close(struct gpu *gpu);

/* GPU_WITHIN and GPU_PEER need gpu_take_other_ends. */
enum gpu_copy_way { GPU_TO, GPU_FROM, GPU_WITHIN, GPU_PEER };

/* Copies `bytes` so many times between host, which is pinned or not, and the GPU's memory from offset on; between GPUs
 * host is not read. The context is the thread's (gpu_enter). Each copy is over before the next begins. *seconds is the
 * mean of one. Returns 0, or -1 with the reason. */
int gpu_copy(struct gpu *gpu, enum gpu_copy_way way, bool by_events, char *host, size_t offset, size_t bytes,
             int repeats, double *seconds, struct error *error);

/* Returns hwloc's logical index of the package whose processors are closest to that PCI device; -1 where hwloc does not
 * know the device, or the one package of its processors. */
int gpu_socket(const char *bus_id);

#endif

/* Holds memory of one GPU, which the processes of its group share: the first one's device pointer, which the others
 * open by cuIpcOpenMemHandle. gpu_collectives goes to it by these functions alone.
 *
 * Where there is no GPU, memory of the host plays it: any process of the group copies to and from it, and a copy is
 * memcpy. That says nothing of how fast a GPU is. */
#ifndef MPISTAIR_TESTS_DEVICE_MEMORY_H
#define MPISTAIR_TESTS_DEVICE_MEMORY_H

#include "calibrate/gpu/gpu_memory.h"

#include <mpi.h>
#include <stddef.h>

struct device_memory {
    MPI_Comm group; /* the processes of the GPU */
    struct gpu gpu; /* open where there is one */
    MPI_Win window; /* else */
    char *base;
};

/* Says which bytes a copy takes: a list of them is one copy, and lies on the host one behind the other. */
struct device_piece {
    size_t offset; /* in the device's memory */
    size_t bytes;
};

/* Allocates on the first process of the group and shares with the others; collective over group. number is that of the
 * group: it gets this GPU, or one of those that there are. Fails the job where there is no memory, or a GPU's cannot be
 * shared. device_release(), collective as well, frees. */
void device_open(struct device_memory *memory, MPI_Comm group, int number, size_t bytes);
void device_release(struct device_memory *memory);
/* Returns whether it is a GPU's. */
bool device_is_real(const struct device_memory *memory);
/* Returns the address that an MPI takes which knows the memory of GPUs. */
void *device_address(const struct device_memory *memory);

/* Copy from the device to the host, and back. */
void device_pull(struct device_memory *memory, const struct device_piece *pieces, size_t n, void *host);
void device_push(struct device_memory *memory, const struct device_piece *pieces, size_t n, void *host);

/* Returns when what any process of the group copied to the device is there for all of it; collective over the group. */
void device_settle(struct device_memory *memory);

/* Returns why MPI cannot be given the memory of a GPU, one line, valid until the next call; NULL where it can. */
const char *device_refused_by_mpi(void);

#endif

/* Stands for the memory of one GPU, which the processes of its group share. gpu_collectives goes to it by these
 * functions alone, so that another implementation can take the place of the one in device_memory.c.
 *
 * Here it is memory of the host, shared by the group as a device pointer is that others opened by cuIpcOpenMemHandle:
 * any process of the group copies to and from it, and a copy is memcpy. Nothing here says how fast a GPU is. */
#ifndef MPISTAIR_TESTS_DEVICE_MEMORY_H
#define MPISTAIR_TESTS_DEVICE_MEMORY_H

#include <mpi.h>
#include <stddef.h>

struct device_memory {
    MPI_Comm group; /* the processes of the GPU */
    MPI_Win window;
    char *base;
};

/* Says which bytes a copy takes: a list of them is one copy, and lies on the host one behind the other. */
struct device_piece {
    size_t offset; /* in the device's memory */
    size_t bytes;
};

/* Allocates on the first process of the group and shares with the others; collective over group. Fails the job where
 * there is no memory. device_release(), collective as well, frees. */
void device_open(struct device_memory *memory, MPI_Comm group, size_t bytes);
void device_release(struct device_memory *memory);

/* Copy from the device to the host, and back. */
void device_pull(const struct device_memory *memory, const struct device_piece *pieces, size_t n, void *host);
void device_push(struct device_memory *memory, const struct device_piece *pieces, size_t n, const void *host);

/* Returns when what any process of the group copied to the device is there for all of it; collective over the group. */
void device_settle(struct device_memory *memory);

/* Returns why MPI cannot be given this memory as a GPU's: one line, valid until the next call. */
const char *device_refused_by_mpi(void);

#endif

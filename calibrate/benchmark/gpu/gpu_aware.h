/* Whether the MPI accepts buffers in the memory of NVIDIA's GPUs. */
#ifndef MPISTAIR_CALIBRATE_GPU_AWARE_H
#define MPISTAIR_CALIBRATE_GPU_AWARE_H

#include <stdbool.h>

/* Returns whether the MPI says so; to be called after MPI_Init. */
bool gpu_mpi_is_aware(void);

#endif

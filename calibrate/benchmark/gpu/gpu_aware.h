/* Asks the MPI whether it takes the memory of GPUs of NVIDIA. */
#ifndef MPISTAIR_CALIBRATE_GPU_AWARE_H
#define MPISTAIR_CALIBRATE_GPU_AWARE_H

#include <stdbool.h>

/* Returns whether it says so; after MPI_Init. */
bool gpu_mpi_is_aware(void);

#endif

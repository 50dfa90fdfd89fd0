/* Whether there are GPUs of NVIDIA, and the MPI accepts buffers in their memory. */
#ifndef MPISTAIR_CALIBRATE_GPU_AWARE_H
#define MPISTAIR_CALIBRATE_GPU_AWARE_H

#include <stdbool.h>

#include "calibrate/measure/measure.h"

/* Returns whether the MPI says so; to be called after MPI_Init. */
bool gpu_mpi_is_aware(void);
/* Returns on all ranks whether rank 0 sees a GPU; where it does not, a note says why. */
bool gpu_look(const struct measure *measure);

#endif

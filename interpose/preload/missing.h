/* Provides what answers for a function that no MPI in the process has. */
#ifndef MPISTAIR_PRELOAD_MISSING_H
#define MPISTAIR_PRELOAD_MISSING_H

#include <stdint.h>

#include "interpose/preload/bind.h"

/* Returns the stand-in, never NULL. MPI_Initialized and MPI_Finalized answer "no" with success, functions that return
 * an error code return one, all others return zero. */
mpistair_code *missing_function(uint32_t function);

#endif

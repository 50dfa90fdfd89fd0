/* What answers for a function that no MPI in the process provides. */
#ifndef MPISTAIR_PRELOAD_MISSING_H
#define MPISTAIR_PRELOAD_MISSING_H

#include <stdint.h>

#include "interpose/preload/bind.h"

/* Never NULL. MPI_Initialized and MPI_Finalized answer "no" with success, functions that return an error code return
 * one, all others zero. */
mpistair_code *missing_function(uint32_t function);

#endif

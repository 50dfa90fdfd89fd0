/* The functions behind ours, and cells that pass calls on to them. */
#ifndef MPISTAIR_PRELOAD_LOOK_UP_H
#define MPISTAIR_PRELOAD_LOOK_UP_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/preload/bind.h"

/* Sets mpistair_next and mpistair_pnext of a function, if an MPI (or a tool behind us) provides it. */
bool look_up(uint32_t function);

/* Makes the function's cells pass calls on; counts the application's calls of families that are not recorded, unless
 * recording is stopped. */
void look_up_pass_on(uint32_t function);

/* Makes the function's cells lead the application's calls to a backend's wrapper. Follows look_up_pass_on. */
void look_up_record(uint32_t function, mpistair_code *wrapper);

/* MPI_Init, MPI_Finalize, MPI_Abort and their like: their cells ask at every call. */
bool look_up_is_end(uint32_t function);

#endif

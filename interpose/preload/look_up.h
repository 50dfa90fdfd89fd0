/* Finds the functions behind ours, and makes cells pass calls on to them. */
#ifndef MPISTAIR_PRELOAD_LOOK_UP_H
#define MPISTAIR_PRELOAD_LOOK_UP_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/functions.h"
#include "interpose/preload/bind.h"
#include "interpose/preload/cells.h"

/* Returns the stand-in, never NULL. MPI_Initialized and MPI_Finalized answer "no" with success, functions that return
 * an error code return one, all others return zero. */
mpistair_code *missing_function(uint32_t function);

/* Sets mpistair_next and mpistair_pnext of a function, if an MPI (or a tool behind us) provides it. */
bool look_up(uint32_t function);

/* Makes the function's cells pass calls on; counts the application's calls of families that are not recorded, unless
 * recording is stopped. */
void look_up_pass_on(uint32_t function);

/* Makes the function's cells lead the application's calls to a backend's wrapper. Follows look_up_pass_on. */
void look_up_record(uint32_t function, mpistair_code *wrapper);

/* Returns the name behind an entry: MPI_X, or PMPI_X. */
const char *look_up_name(uint32_t function, enum mpistair_entry entry);
enum mpistair_family look_up_family(uint32_t function);

/* Returns whether calls of the function pass through and are counted: nobody records them, or this backend has no
 * wrapper. */
bool look_up_is_counted(uint32_t function);

/* Returns whether the function is MPI_Init, MPI_Finalize, MPI_Abort or the like, whose cells ask at every call. */
bool look_up_is_end(uint32_t function);

#endif

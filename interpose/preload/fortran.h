/* Handles calls of MPI in Fortran: where the stubs of fortran_stub.S go on, and what they noted. */
#ifndef MPISTAIR_PRELOAD_FORTRAN_H
#define MPISTAIR_PRELOAD_FORTRAN_H

#include <stdint.h>

#include "interpose/preload/bind.h"

/* Returns where stub `number`, called from `return_address`, goes on: the next definition of its name. Where there is
 * none, the process ends as the loader ends one that calls an undefined symbol: with a line on stderr and status 127.
 */
mpistair_code *fortran_target(uint32_t number, const void *return_address);

/* Returns the calling thread's note, see bind.h. */
struct mpistair_fortran_note *fortran_note(void);

#endif

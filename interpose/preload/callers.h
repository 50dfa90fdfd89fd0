/* Finds who calls PMPI_X: a Fortran layer of MPI or the program's own wrappers, on behalf of the application, or
 * anybody else. */
#ifndef MPISTAIR_PRELOAD_CALLERS_H
#define MPISTAIR_PRELOAD_CALLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/preload/bind.h"

/* Returns the cells, by function number, through which PMPI_X goes for the object that holds the code at
 * `return_address`. Remembers the object in mpistair_callers, where the trampolines look first. An object that is
 * unloaded keeps its entry. */
mpistair_code *_Atomic *callers_cells(const void *return_address);

/* Returns whether the code at an address belongs to a Fortran layer. */
bool callers_is_fortran(const void *address);

/* Returns where stub `number`, called from `return_address`, goes on: the next definition of its name. Where there is
 * none, the process ends as the loader ends one that calls an undefined symbol: with a line on stderr and status 127.
 */
mpistair_code *fortran_target(uint32_t number, const void *return_address);

/* Returns the calling thread's note, see bind.h. */
struct mpistair_fortran_note *fortran_note(void);

#endif

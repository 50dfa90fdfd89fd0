/* Who calls PMPI_X: a Fortran layer of MPI, on behalf of the application, or anybody else. */
#ifndef MPISTAIR_PRELOAD_CALLERS_H
#define MPISTAIR_PRELOAD_CALLERS_H

#include <stdbool.h>

/* Whether the code at `return_address` belongs to a Fortran layer. Remembers the object's code range in
 * mpistair_callers, where the trampolines look first. An object that is unloaded keeps its entry. */
bool callers_is_fortran(const void *return_address);

#endif

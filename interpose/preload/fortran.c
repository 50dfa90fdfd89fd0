/* A stub stands for whatever the caller would reach without us. That is the next definition in search order, else one
 * in the caller's own dependencies (an extension module that an interpreter loaded RTLD_LOCAL). The only place left is
 * any object that has it (a dependency of whoever loaded the caller). Names like mpi_send may also be those of a
 * library that has nothing to do with MPI; the stub hands its calls on just the same. A definition that was found for
 * one caller alone is kept for all only if it lies in a Fortran layer of MPI.
 *
 * Two things differ from a run without us. There a weak reference to a Fortran name that no object has is 0, and a
 * program bound at once (LD_BIND_NOW) that needs one does not start. With us the call itself ends the process. */
#include "interpose/preload/fortran.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "interpose/preload/callers.h"
#include "interpose/preload/cells.h"
#include "interpose/preload/mpi_library.h"

/* Repeats the declaration for fortran_stub.S; hidden, so that the stubs need no look-up. */
extern _Thread_local struct mpistair_fortran_note mpistair_fortran_note
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
_Thread_local struct mpistair_fortran_note mpistair_fortran_note;

struct mpistair_fortran_note *fortran_note(void)
{
    return &mpistair_fortran_note;
}

static _Noreturn void undefined(const char *name, const void *return_address)
{
    Dl_info caller;
    const char *file = dladdr(return_address, &caller) != 0 ? caller.dli_fname : "?";
    dprintf(STDERR_FILENO, "%s: symbol lookup error: %s: undefined symbol: %s\n", program_invocation_name, file, name);
    _exit(127);
}

mpistair_code *fortran_target(uint32_t number, const void *return_address)
{
    const char *name = mpistair_fortran_names[number];
    mpistair_code *found = mpi_library_find(name);
    bool is_for_all = found != NULL;
    if (found == NULL)
        found = mpi_library_find_for(name, return_address);
    if (found == NULL)
        found = mpi_library_find_anywhere(name);
    if (found == NULL)
        undefined(name, return_address);
    if (is_for_all || callers_is_fortran((const void *)(uintptr_t)found))
        atomic_store_explicit(&mpistair_fortran_cells[number], found, memory_order_release);
    return found;
}

/* Decides on whose behalf PMPI_X was called. What stands before us in search order hides our MPI_X: a program with
 * wrappers of its own, a tool that is preloaded in front. Its PMPI_X is the application's call, as we see no other. The
 * MPI's own PMPI_X, and that of a recorder, passes. What stands behind us may be a tool that works on a call of ours,
 * or a library whose wrappers we do not see: such calls pass, and are counted where they cannot be part of one of ours
 * (look_up.c).
 *
 * Objects are learned one at a time as they call: the link map may be long, the callers of PMPI_X are few, and a
 * Fortran layer may be loaded at any time. Where the table is full, or another thread is about to add, nothing is
 * remembered and the next call asks again. */
#include "interpose/preload/callers.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interpose/preload/cells.h"
#include "interpose/preload/mpi_library.h"
#include "interpose/preload/recording.h"
#include "share/base/one_of.h"

struct mpistair_caller mpistair_callers[CALLERS_MAX];
_Atomic uint32_t mpistair_n_callers;

static bool is_fortran_layer(const char *path)
{
    /* Open MPI has one for each of mpif.h, use mpi, use mpi_f08; MPICH renamed its own more than once, and its family
     * has more. */
    static const char *const prefixes[] = {"libmpi_mpifh", "libmpi_usempi", "libmpichfort",
                                           "libmpichf",    "libmpifort",    "libvapaa"};
    const char *name = file_name(path);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* Recognises the MPI, a component of Open MPI, our backend. */
static bool is_part_of_mpi(const struct loaded_object *object)
{
    mpistair_code *own = atomic_load(&mpistair_pnext[FN_Get_library_version]);
    mpistair_code *wrapper = recording_wrapper(FN_Send);
    return object_holds(object, (uintptr_t)own) || (wrapper != NULL && object_holds(object, (uintptr_t)wrapper)) ||
           strncmp(file_name(object->path), "mca_", strlen("mca_")) == 0 || mpi_library_is_abi_name(object->path);
}

static mpistair_code *_Atomic *cells_of(const struct loaded_object *object)
{
    if (is_fortran_layer(object->path))
        return mpistair_fcells;
    if (is_part_of_mpi(object))
        return mpistair_pnext;
    return object->is_front ? mpistair_front_cells : mpistair_behind_cells;
}

static void remember(const struct mpistair_caller *caller)
{
    static atomic_flag adding = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set_explicit(&adding, memory_order_acquire))
        return;
    uint32_t n = atomic_load_explicit(&mpistair_n_callers, memory_order_relaxed);
    bool known = false;
    for (uint32_t i = 0; i < n; i++)
        known = known || mpistair_callers[i].begin == caller->begin;
    if (!known && n < CALLERS_MAX) {
        mpistair_callers[n] = *caller;
        atomic_store_explicit(&mpistair_n_callers, n + 1, memory_order_release);
    }
    atomic_flag_clear_explicit(&adding, memory_order_release);
}

mpistair_code *_Atomic *callers_cells(const void *return_address)
{
    uintptr_t address = (uintptr_t)return_address;
    uint32_t n = atomic_load_explicit(&mpistair_n_callers, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        if (address >= mpistair_callers[i].begin && address < mpistair_callers[i].end)
            return mpistair_callers[i].cells;
    struct loaded_object object;
    if (!object_find(address, &object))
        return mpistair_pnext;
    struct mpistair_caller caller = {object.begin, object.end, cells_of(&object)};
    if (caller.cells == mpistair_fcells || recording_state() == RECORDING_ON) /* earlier the MPI may not be known */
        remember(&caller);
    return caller.cells;
}

bool callers_is_fortran(const void *address)
{
    return callers_cells(address) == mpistair_fcells;
}

/* A stub leads to the definition that the caller would reach without this library: the next one in search order, else
 * one in the caller's own dependencies (an extension module that an interpreter loaded RTLD_LOCAL), else that of any
 * loaded object (a dependency of the object that loaded the caller). Names like mpi_send may also be those of a library
 * that has nothing to do with MPI; the stub hands its calls on just the same. A definition that was found for one
 * caller alone is kept for all only if it lies in a Fortran layer of MPI.
 *
 * Two things differ from a run without us. There a weak reference to a Fortran name that no object has is 0, and a
 * program bound at once (LD_BIND_NOW) that needs one does not start. With us the call itself ends the process. */

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

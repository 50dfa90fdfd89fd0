/* Where a call goes that arrives at a trampoline for the first time, and at MPI_Init, MPI_Finalize and MPI_Abort
 * always.
 *
 * Tools stack: a tool in front of us gets the application's MPI_X and calls PMPI_X, a tool behind us gets our MPI_X and
 * calls PMPI_X, which comes to us as well. So PMPI_X passes through, with two exceptions. A Fortran layer calls PMPI_X
 * for the application. And of MPI_Init, MPI_Finalize, MPI_Abort the first call counts by whichever name it comes, so
 * that a tool in front does not hide the start of the job, while the call that a tool behind us makes in the course of
 * our own is no longer the first.
 *
 * What comes as PMPI_X and is only passed on goes to PMPI_X, from Fortran too: a tool behind us may end its MPI_X with
 * a jump to PMPI_X, which returns to the Fortran layer and looks like its call; handed to that tool again, it would go
 * around for ever.
 */
#include "look_up.h"

#include <dlfcn.h>
#include <errno.h>

#include "callers.h"
#include "cells.h"
#include "fortran.h"
#include "missing.h"
#include "mpi_library.h"
#include "recording.h"

mpistair_code *_Atomic mpistair_next[FN_COUNT];
mpistair_code *_Atomic mpistair_pnext[FN_COUNT];
mpistair_code *_Atomic mpistair_fcells[FN_COUNT];

#define X(name, family) "PMPI_" #name,
static const char *const pmpi_names[FN_COUNT] = {MPISTAIR_FUNCTIONS(X)};
#undef X
#define X(name, family) family,
static const unsigned char families[FN_COUNT] = {MPISTAIR_FUNCTIONS(X)};
#undef X

static const char *name_of(uint32_t function, enum mpistair_entry entry)
{
    return pmpi_names[function] + (entry == ENTRY_MPI ? 1 : 0);
}

bool look_up(uint32_t function)
{
    if (atomic_load_explicit(&mpistair_next[function], memory_order_acquire) != NULL)
        return true;
    mpistair_code *next = mpi_library_find(name_of(function, ENTRY_MPI));
    mpistair_code *pnext = mpi_library_find(name_of(function, ENTRY_PMPI));
    if (next == NULL)
        next = pnext;
    if (next == NULL)
        return false;
    /* Not the other way round: where only a tool has MPI_X, its call of PMPI_X must not lead back to it. */
    if (pnext == NULL)
        pnext = missing_function(function);
    atomic_store_explicit(&mpistair_pnext[function], pnext, memory_order_release);
    atomic_store_explicit(&mpistair_next[function], next, memory_order_release);
    return true;
}

bool look_up_is_end(uint32_t function)
{
    return families[function] == FAMILY_INIT || families[function] == FAMILY_FINALIZE ||
           families[function] == FAMILY_ABORT;
}

/* Passed through and counted: what nobody records, and what this backend has no wrapper for. */
static bool is_counted(uint32_t function)
{
    if (families[function] == FAMILY_UNTRACKED || families[function] == FAMILY_COUNTED)
        return true;
    return families[function] != FAMILY_LOCAL && recording_is_on() && recording_wrapper(function) == NULL;
}

void look_up_pass_on(uint32_t function)
{
    mpistair_code *next = atomic_load(&mpistair_next[function]);
    mpistair_code *pnext = atomic_load(&mpistair_pnext[function]);
    if (next == NULL || look_up_is_end(function))
        return;
    mpistair_code *fortran = pnext;
    if (!recording_is_stopped()) {
        if (is_counted(function)) {
            next = mpistair_count_stubs[function];
            fortran = mpistair_pcount_stubs[function];
        }
        if (families[function] != FAMILY_LOCAL)
            pnext = mpistair_caller_stubs[function];
    }
    atomic_store_explicit(&mpistair_cells[function], next, memory_order_release);
    atomic_store_explicit(&mpistair_fcells[function], fortran, memory_order_release);
    if (function != FN_Pcontrol || recording_is_stopped())
        atomic_store_explicit(&mpistair_pcells[function], pnext, memory_order_release);
}

static bool begins_mpi(uint32_t function)
{
    return families[function] == FAMILY_INIT || families[function] == FAMILY_SESSION_INIT;
}

/* Whether a call counts as the application's. Open MPI's mpif.h hands MPI_PCONTROL on by a jump, with the application's
 * return address: that one counts unless a tool wraps it. All others return to their Fortran layer. */
static bool is_of_application(uint32_t function, enum mpistair_entry entry, const void *return_address)
{
    if (entry == ENTRY_MPI || callers_is_fortran(return_address))
        return true;
    return function == FN_Pcontrol &&
           !mpi_library_is_wrapped(name_of(function, ENTRY_MPI), atomic_load(&mpistair_next[function]),
                                   atomic_load(&mpistair_pnext[function]));
}

/* The wrapper of MPI_Init, ... for the first call of that family, NULL for all others. */
static mpistair_code *first_end(uint32_t function)
{
    static atomic_flag is_entered[3] = {ATOMIC_FLAG_INIT, ATOMIC_FLAG_INIT, ATOMIC_FLAG_INIT};
    unsigned which = families[function] == FAMILY_INIT ? 0 : families[function] == FAMILY_FINALIZE ? 1 : 2;
    if (families[function] == FAMILY_INIT)
        recording_begin();
    mpistair_code *wrapper = recording_wrapper(function);
    return wrapper != NULL && !atomic_flag_test_and_set(&is_entered[which]) ? wrapper : NULL;
}

static mpistair_code *target(uint32_t function, enum mpistair_entry entry, const void *return_address)
{
    if (!look_up(function)) {
        mpistair_code *own = mpi_library_find_for(name_of(function, entry), return_address);
        if (own != NULL && begins_mpi(function))
            recording_begin(); /* says that there are several MPIs */
        return own != NULL ? own : missing_function(function);
    }
    mpistair_code *next = atomic_load(&mpistair_next[function]);
    mpistair_code *pnext = atomic_load(&mpistair_pnext[function]);
    mpistair_code *passed = entry == ENTRY_MPI ? next : pnext;
    bool is_application = is_of_application(function, entry, return_address);
    if (families[function] == FAMILY_SESSION_INIT && is_application)
        recording_begin();
    if (look_up_is_end(function)) {
        mpistair_code *wrapper = first_end(function);
        return wrapper != NULL ? wrapper : passed;
    }
    mpistair_code *wrapper = recording_wrapper(function);
    if (wrapper != NULL)
        return is_application ? wrapper : pnext;
    /* Recorded functions get their cells at MPI_Init; until then they keep asking. */
    if (families[function] != FAMILY_LOCAL && !is_counted(function) && !recording_is_stopped())
        return passed;
    look_up_pass_on(function);
    if (entry == ENTRY_MPI)
        return atomic_load(&mpistair_cells[function]);
    return is_application ? atomic_load(&mpistair_fcells[function]) : pnext;
}

mpistair_code *mpistair_resolve(uint32_t function, uint32_t entry, const void *return_address)
{
    int error = errno;
    mpistair_code *found =
        entry == ENTRY_FORTRAN ? fortran_target(function, return_address) : target(function, entry, return_address);
    (void)dlerror(); /* of our own look-ups */
    errno = error;
    return found;
}

/* Decides where a call goes that arrives at a trampoline for the first time, and at MPI_Init, MPI_Finalize and
 * MPI_Abort always.
 *
 * Tools stack: a tool behind us gets our MPI_X and calls PMPI_X, which comes to us as well, so PMPI_X passes through
 * unless its caller works for the application (callers.c). For MPI_Init, MPI_Finalize and MPI_Abort the first call
 * counts, by whichever name it comes, so that a tool does not hide the start of the job. The call that a tool behind us
 * makes in the course of our own is no longer the first.
 *
 * A call that comes as PMPI_X and is only passed on goes to PMPI_X, from Fortran too. For a tool behind us may end
 * its MPI_X with a jump to PMPI_X, which returns to the Fortran layer and looks like its call; handed to that tool
 * again, it would go around for ever. In the same way a jump from behind us may look like the program's call of a
 * function that was counted already as MPI_X. */
#include <dlfcn.h>
#include <errno.h>

#include "interpose/preload/attach.h"
#include "interpose/preload/callers.h"
#include "interpose/preload/cells.h"
#include "interpose/preload/fortran.h"
#include "interpose/preload/look_up.h"
#include "interpose/preload/missing.h"
#include "interpose/preload/mpi_library.h"
#include "interpose/preload/recording.h"

static bool begins_mpi(uint32_t function)
{
    return look_up_family(function) == FAMILY_INIT || look_up_family(function) == FAMILY_SESSION_INIT;
}

/* Returns the wrapper of MPI_Init, ... for the first call of that family, NULL for all others. */
static mpistair_code *first_end(uint32_t function)
{
    static atomic_flag is_entered[3] = {ATOMIC_FLAG_INIT, ATOMIC_FLAG_INIT, ATOMIC_FLAG_INIT};
    unsigned which = look_up_family(function) == FAMILY_INIT ? 0 : look_up_family(function) == FAMILY_FINALIZE ? 1 : 2;
    if (look_up_family(function) == FAMILY_INIT)
        attach_backend();
    mpistair_code *wrapper = recording_wrapper(function);
    return wrapper != NULL && !atomic_flag_test_and_set(&is_entered[which]) ? wrapper : NULL;
}

static mpistair_code *target(uint32_t function, enum mpistair_entry entry, const void *return_address)
{
    if (!look_up(function)) {
        mpistair_code *own = mpi_library_find_for(look_up_name(function, entry), return_address);
        if (own != NULL && begins_mpi(function))
            attach_backend(); /* this reports that there are several MPIs */
        return own != NULL ? own : missing_function(function);
    }
    mpistair_code *next = atomic_load(&mpistair_next[function]);
    mpistair_code *pnext = atomic_load(&mpistair_pnext[function]);
    mpistair_code *passed = entry == ENTRY_MPI ? next : pnext;
    mpistair_code *_Atomic *cells = entry == ENTRY_MPI ? mpistair_cells : callers_cells(return_address);
    bool is_application = cells != mpistair_pnext && cells != mpistair_behind_cells;
    if (look_up_family(function) == FAMILY_SESSION_INIT && is_application)
        attach_backend();
    if (look_up_is_end(function)) {
        mpistair_code *wrapper = first_end(function);
        return wrapper != NULL ? wrapper : passed;
    }
    mpistair_code *wrapper = recording_wrapper(function);
    if (wrapper != NULL && is_application)
        return wrapper;
    if (wrapper == NULL) {
        /* Recorded functions get their cells at MPI_Init; until then they keep asking. */
        if (look_up_family(function) != FAMILY_LOCAL && !look_up_is_counted(function) && !recording_is_stopped())
            return passed;
        look_up_pass_on(function);
    }
    mpistair_code *code = atomic_load(&cells[function]);
    return code != NULL ? code : pnext; /* NULL: another thread is about to store all cells */
}

mpistair_code *mpistair_resolve(uint32_t function, uint32_t entry, const void *return_address)
{
    int error = errno;
    mpistair_code *found =
        entry == ENTRY_FORTRAN ? fortran_target(function, return_address) : target(function, entry, return_address);
    (void)dlerror(); /* forgets errors of our own look-ups */
    errno = error;
    return found;
}

/* Where a call goes that arrives at a trampoline for the first time, and at MPI_Init, MPI_Finalize and MPI_Abort
 * always.
 *
 * Tools stack: a tool behind us gets our MPI_X and calls PMPI_X, which comes to us as well, so PMPI_X passes through
 * unless its caller works for the application (callers.c). Of MPI_Init, MPI_Finalize, MPI_Abort the first call counts
 * by whichever name it comes, so that a tool does not hide the start of the job, while the call that a tool behind us
 * makes in the course of our own is no longer the first.
 *
 * What comes as PMPI_X and is only passed on goes to PMPI_X, from Fortran too: a tool behind us may end its MPI_X with
 * a jump to PMPI_X, which returns to the Fortran layer and looks like its call; handed to that tool again, it would go
 * around for ever. In the same way a jump from behind us may look like the program's call, of a function that was
 * counted already as MPI_X.
 */
#include "interpose/preload/look_up.h"

#include <dlfcn.h>
#include <errno.h>

#include "interpose/preload/callers.h"
#include "interpose/preload/cells.h"
#include "interpose/preload/fortran.h"
#include "interpose/preload/missing.h"
#include "interpose/preload/mpi_library.h"
#include "interpose/preload/recording.h"

mpistair_code *_Atomic mpistair_next[FN_COUNT];
mpistair_code *_Atomic mpistair_pnext[FN_COUNT];
mpistair_code *_Atomic mpistair_fcells[FN_COUNT];
mpistair_code *_Atomic mpistair_front_cells[FN_COUNT];
mpistair_code *_Atomic mpistair_behind_cells[FN_COUNT];

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

/* Whether a call of the function posts, or starts, a message. */
static bool posts_message(uint32_t function)
{
    switch (families[function]) {
    case FAMILY_SEND:
    case FAMILY_RECV:
    case FAMILY_ISEND:
    case FAMILY_IRECV:
    case FAMILY_SENDRECV:
    case FAMILY_ISENDRECV:
    case FAMILY_START:
    case FAMILY_STARTALL:
    case FAMILY_MPROBE:
    case FAMILY_IMPROBE:
    case FAMILY_MRECV:
    case FAMILY_IMRECV:
        return true;
    default:
        return false;
    }
}

/* Whether a tool behind us works on calls of the function. */
static bool is_wrapped_behind(uint32_t function)
{
    return mpi_library_is_wrapped_behind(atomic_load(&mpistair_next[function]), atomic_load(&mpistair_pnext[function]));
}

static void store(mpistair_code *_Atomic *cells, uint32_t function, mpistair_code *code)
{
    atomic_store_explicit(&cells[function], code, memory_order_release);
}

void look_up_pass_on(uint32_t function)
{
    mpistair_code *next = atomic_load(&mpistair_next[function]);
    mpistair_code *pnext = atomic_load(&mpistair_pnext[function]);
    if (next == NULL || look_up_is_end(function))
        return;
    bool is_wrapped = is_wrapped_behind(function);
    mpistair_code *fortran = pnext, *front = pnext, *behind = pnext, *caller = pnext;
    if (!recording_is_stopped()) {
        if (is_counted(function)) {
            next = mpistair_count_stubs[function];
            fortran = mpistair_pcount_stubs[function];
            if (!is_wrapped || mpi_library_is_wrapped_in_front(name_of(function, ENTRY_MPI)))
                front = fortran;
        }
        /* Open MPI's mpif.h hands MPI_PCONTROL on by a jump, with the address of who called it. */
        if ((posts_message(function) || function == FN_Pcontrol) && !is_wrapped)
            behind = mpistair_pcount_stubs[function];
        if (families[function] != FAMILY_LOCAL)
            caller = mpistair_caller_stubs[function];
    }
    store(mpistair_cells, function, next);
    store(mpistair_fcells, function, fortran);
    store(mpistair_front_cells, function, front);
    store(mpistair_behind_cells, function, behind);
    store(mpistair_pcells, function, caller);
}

void look_up_record(uint32_t function, mpistair_code *wrapper)
{
    store(mpistair_cells, function, wrapper);
    store(mpistair_fcells, function, wrapper);
    store(mpistair_front_cells, function, wrapper);
    if (function == FN_Pcontrol && !is_wrapped_behind(function))
        store(mpistair_behind_cells, function, wrapper);
}

static bool begins_mpi(uint32_t function)
{
    return families[function] == FAMILY_INIT || families[function] == FAMILY_SESSION_INIT;
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
    mpistair_code *_Atomic *cells = entry == ENTRY_MPI ? mpistair_cells : callers_cells(return_address);
    bool is_application = cells != mpistair_pnext && cells != mpistair_behind_cells;
    if (families[function] == FAMILY_SESSION_INIT && is_application)
        recording_begin();
    if (look_up_is_end(function)) {
        mpistair_code *wrapper = first_end(function);
        return wrapper != NULL ? wrapper : passed;
    }
    mpistair_code *wrapper = recording_wrapper(function);
    if (wrapper != NULL && is_application)
        return wrapper;
    if (wrapper == NULL) {
        /* Recorded functions get their cells at MPI_Init; until then they keep asking. */
        if (families[function] != FAMILY_LOCAL && !is_counted(function) && !recording_is_stopped())
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
    (void)dlerror(); /* of our own look-ups */
    errno = error;
    return found;
}

/* Finds the functions behind ours, and says where their cells lead. attach.c, whose mpistair_resolve() is asked first,
 * explains which calls there are and where each goes. */
#include "interpose/preload/look_up.h"

#include "interpose/functions.h"
#include "interpose/preload/cells.h"
#include "interpose/preload/mpi_library.h"
#include "interpose/preload/recording.h"
#include "share/base/one_of.h"

/* A program with weak references to MPI sees ours and believes that there is an MPI. It asks MPI_Initialized, hears
 * "no", and goes its way without; whatever else it calls fails as an MPI call does, and does not crash. */
enum { ERROR_OTHER = 16 }; /* any error code does: none of an MPI that is not there has a meaning */

static int missing_flag(int *flag)
{
    *flag = 0;
    return 0;
}

static int missing_error(void)
{
    return ERROR_OTHER;
}

static double missing_real(void)
{
    return 0.0;
}

static intptr_t missing_value(void)
{
    return 0;
}

#define missing_REAL  missing_real
#define missing_VALUE missing_value

mpistair_code *missing_function(uint32_t function)
{
    switch (function) {
    case FN_Initialized:
    case FN_Finalized:
        return (mpistair_code *)(void (*)(void))missing_flag;
#define X(name, kind)                                                                                                  \
    case FN_##name:                                                                                                    \
        return (mpistair_code *)(void (*)(void))missing_##kind;
        MPISTAIR_VALUE_FUNCTIONS(X)
#undef X
    default:
        return (mpistair_code *)(void (*)(void))missing_error;
    }
}

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

enum mpistair_family look_up_family(uint32_t function)
{
    return families[function];
}

const char *look_up_name(uint32_t function, enum mpistair_entry entry)
{
    return pmpi_names[function] + (entry == ENTRY_MPI ? 1 : 0);
}

bool look_up(uint32_t function)
{
    if (atomic_load_explicit(&mpistair_next[function], memory_order_acquire) != NULL)
        return true;
    mpistair_code *next = mpi_library_find(look_up_name(function, ENTRY_MPI));
    mpistair_code *pnext = mpi_library_find(look_up_name(function, ENTRY_PMPI));
    if (next == NULL)
        next = pnext;
    if (next == NULL)
        return false;
    /* The other way round is wrong: where only a tool has MPI_X, its call of PMPI_X must not lead back to it. */
    if (pnext == NULL)
        pnext = missing_function(function);
    atomic_store_explicit(&mpistair_pnext[function], pnext, memory_order_release);
    atomic_store_explicit(&mpistair_next[function], next, memory_order_release);
    return true;
}

bool look_up_is_end(uint32_t function)
{
    return IS_ONE_OF(families[function], FAMILY_INIT, FAMILY_FINALIZE, FAMILY_ABORT);
}

bool look_up_is_counted(uint32_t function)
{
    if (families[function] == FAMILY_UNTRACKED || families[function] == FAMILY_COUNTED)
        return true;
    return families[function] != FAMILY_LOCAL && recording_state() == RECORDING_ON &&
           recording_wrapper(function) == NULL;
}

/* Returns whether a call of the function posts, or starts, a message. */
static bool posts_message(uint32_t function)
{
    return IS_ONE_OF(families[function], FAMILY_SEND, FAMILY_RECV, FAMILY_ISEND, FAMILY_IRECV, FAMILY_SENDRECV,
                     FAMILY_ISENDRECV, FAMILY_START, FAMILY_STARTALL, FAMILY_MPROBE, FAMILY_IMPROBE, FAMILY_MRECV,
                     FAMILY_IMRECV);
}

/* Returns whether a tool behind us works on calls of the function. */
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
    if (recording_state() != RECORDING_STOPPED) {
        if (look_up_is_counted(function)) {
            next = mpistair_count_stubs[function];
            fortran = mpistair_pcount_stubs[function];
            if (!is_wrapped || mpi_library_is_wrapped_in_front(look_up_name(function, ENTRY_MPI)))
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

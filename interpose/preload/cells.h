/* The cells that the trampolines jump through, and what else trampoline.S shares with C.
 *
 * Everything is indexed by function number. A cell is one aligned word, stored with release, read by the trampoline's
 * jump: it changes at any time in any thread without a lock. trampoline.S tells what it may hold. */
#ifndef MPISTAIR_PRELOAD_CELLS_H
#define MPISTAIR_PRELOAD_CELLS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/preload/bind.h"
#include "interpose/functions.h"

enum mpistair_entry { ENTRY_MPI = 0, ENTRY_PMPI = 1, ENTRY_FORTRAN = 2 };

/* Where MPI_X and PMPI_X go. */
extern mpistair_code *_Atomic mpistair_cells[FN_COUNT];
extern mpistair_code *_Atomic mpistair_pcells[FN_COUNT];

/* Where the caller stubs go for a Fortran layer, for what stands before us in search order, and for what stands
 * behind us; for the MPI itself that is mpistair_pnext. */
extern mpistair_code *_Atomic mpistair_fcells[FN_COUNT];
extern mpistair_code *_Atomic mpistair_front_cells[FN_COUNT];
extern mpistair_code *_Atomic mpistair_behind_cells[FN_COUNT];

/* Code for a cell: count the call and pass on to next, or to pnext; decide by the caller of PMPI_X. */
extern mpistair_code *const mpistair_count_stubs[FN_COUNT];
extern mpistair_code *const mpistair_pcount_stubs[FN_COUNT];
extern mpistair_code *const mpistair_caller_stubs[FN_COUNT];

/* The functions found behind us, NULL until looked up; a function that this MPI lacks is missing_function(). */
extern mpistair_code *_Atomic mpistair_next[FN_COUNT];
extern mpistair_code *_Atomic mpistair_pnext[FN_COUNT];

/* Where the count stubs count, [FN_COUNT]; a backend points it into its spool. */
extern uint64_t *volatile mpistair_calls;

/* A code range from which PMPI_X was called, with the cells through which it goes on. Entries below
 * mpistair_n_callers never change. */
struct mpistair_caller {
    uintptr_t begin;
    uintptr_t end;
    mpistair_code *_Atomic *cells; /* [FN_COUNT] */
};
#define CALLERS_MAX 24
extern struct mpistair_caller mpistair_callers[CALLERS_MAX];
extern _Atomic uint32_t mpistair_n_callers;

/* Where the Fortran stubs go, and their names, by the number of the stub (not of a function). A cell that does not
 * know yet leads to the resolver. */
extern mpistair_code *_Atomic mpistair_fortran_cells[];
extern const char *const mpistair_fortran_names[];

/* Called by the resolver stubs with the return address of the MPI call; returns where the call goes, never NULL.
 * Keeps errno. With ENTRY_FORTRAN `function` is the number of a Fortran stub. */
mpistair_code *mpistair_resolve(uint32_t function, uint32_t entry, const void *return_address);

_Static_assert(sizeof(struct mpistair_caller) == 24 && offsetof(struct mpistair_caller, cells) == 16,
               "trampoline.S knows this layout");

#endif

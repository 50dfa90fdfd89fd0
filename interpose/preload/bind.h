/* The contract between the preload library and a backend.
 *
 * The preload library knows no MPI type. It owns one cell for each function, through which every MPI_X of the
 * application jumps, and finds the MPI in the process. When MPI is initialised, it loads the backend of its family
 * and stores the backend's wrappers into the cells. A backend is a shared object that is built against one MPI and
 * exports mpistair_backend_v1. Function numbers (enum mpistair_function in the generated functions.h) index every
 * array here; both sides are built from the same mpi.tbl, which table_hash proves. */
#ifndef MPISTAIR_PRELOAD_BIND_H
#define MPISTAIR_PRELOAD_BIND_H

#include <stdbool.h>
#include <stdint.h>

typedef void mpistair_code(void); /* any MPI function, called through its own type */

/* Notes, per thread, where the application's last call of MPI in Fortran came from: the stubs that libmpistair.so
 * exports under the Fortran names store it (fortran_stub.S); whoever reads it sets both fields to 0. */
struct mpistair_fortran_note {
    uintptr_t site;  /* return address of the call; 0: none since it was read */
    uintptr_t outer; /* what `site` was before: the application's where a Fortran layer called another one */
};

/* What the ways to mark regions lead to, whichever of them the program takes. `way` is one of enum spool_region_way. A
 * name is copied; NULL is one without a name. Before the recording and behind its end they do nothing. */
struct mpistair_region_calls {
    void (*begin)(const char *name, unsigned way);
    /* Ends the innermost region of that name, and those within it; NULL: the innermost one. */
    void (*end)(const char *name);
    /* Ends the region that was set within the same one before, and begins another; NULL: none. */
    void (*set)(const char *name, unsigned way);
    void (*mark)(const char *name, unsigned way); /* a moment */
    /* Begins one that may end while others within it go on. Returns what stop is to be given, by the same thread. */
    uint64_t (*start)(const char *name, unsigned way);
    void (*stop)(uint64_t id);
};

/* Times of OpenMP's parallel regions, in ns. */
enum openmp_sum {
    OPENMP_REGION_NS, /* from begin to end */
    OPENMP_THREAD_NS, /* the same, of all threads in them together */
    OPENMP_IDLE_NS,   /* of that, in barriers without a task to run */
    OPENMP_SUMS
};

/* What the preload library gives a backend; lives as long as the process. */
struct mpistair_host {
    uint64_t table_hash;
    uint32_t n_functions;
    uint32_t family;             /* enum spool_family of the MPI that was found */
    mpistair_code *const *next;  /* [n_functions] the MPI_X behind us in search order; NULL: this MPI lacks it */
    mpistair_code *const *pnext; /* [n_functions] the MPI's own PMPI_X; NULL: this MPI lacks it */
    /* The counts, [n_functions], of passed-through calls of families untracked and counted. A backend points
     * it into the spool once that is open (the counts so far copied over), so that they survive a kill. */
    uint64_t *volatile *calls;
    /* Makes all cells pass through to next, for good: forked children, a backend that gives up. */
    void (*stop)(void);
    /* Returns the calling thread's note, which stays where it is until the thread ends. */
    struct mpistair_fortran_note *(*fortran_note)(void);
    /* The working directory when the library was loaded, which relative names in the environment mean wherever
     * the program went since; "" if it is not known. */
    const char *folder;
    /* Hands over the regions that the calling thread is in, and from now on all others. */
    void (*begin_regions)(void);
    /* Returns whether the code at an address belongs to a Fortran layer of MPI, and not to the application. */
    bool (*is_fortran_layer)(const void *address);
    /* Lets OpenMP's parallel regions count, or no more; and reads what was counted. */
    void (*count_openmp)(bool on);
    void (*read_openmp)(uint64_t sums[OPENMP_SUMS]);
};

/* What a backend gives the preload library. */
struct mpistair_backend {
    uint64_t table_hash;
    uint32_t n_functions;
    /* Wrappers by function number; NULL: the function is passed through (counted, where its family says so). */
    mpistair_code *const *wrappers;
    /* Called once, before the first wrapper, in the thread that initialises MPI and before the MPI does. Returns 0,
     * or -1 after which nothing is recorded. Must not call MPI. */
    int (*start)(const struct mpistair_host *host);
    /* Called, while the backend records, before each dlclose; NULL: it need not know. */
    void (*note_modules)(void);
    /* Called after each dlclose, and before one that does not come by; NULL: as above. */
    void (*expect_change)(void);
    const struct mpistair_region_calls *regions; /* may be called, by any thread, from begin_regions on */
};

/* The symbol that a backend exports. */
#define MPISTAIR_BACKEND_SYMBOL "mpistair_backend_v1"

#endif

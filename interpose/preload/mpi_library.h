/* Finds the MPI in this process: where its functions are, how many MPIs there are, of which family it is. */
#ifndef MPISTAIR_PRELOAD_MPI_LIBRARY_H
#define MPISTAIR_PRELOAD_MPI_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/preload/bind.h"
#include "interpose/spool/event.h"

struct loaded_object {
    uintptr_t begin; /* where its addresses begin */
    uintptr_t end;
    const char *path; /* "" for the program; valid as long as the object is loaded */
    bool is_front;    /* it stands before us: what it defines hides ours */
};

/* Finds the object that holds an address. Returns false where there is none. */
bool object_find(uintptr_t address, struct loaded_object *found);

static inline bool object_holds(const struct loaded_object *object, uintptr_t address)
{
    return address >= object->begin && address < object->end;
}

/* Copies the first needed library whose name begins with `prefix` into name[size]. Returns 1 if there is one, 0 if
 * there is none, -1 if the file cannot be read or is no shared object of this machine's word size. */
int elf_needed(const char *path, const char *prefix, char *name, size_t size);

/* Returns the function `name` ("MPI_Send") behind us in search order, else in the only MPI of the link map; NULL if it
 * is not there, or there are several MPIs, none of which is in the global scope. */
mpistair_code *mpi_library_find(const char *name);

/* Returns the function as the object that holds `address` would find it without us, in its own dependencies; NULL if it
 * is not there. It serves processes with several MPIs, none of them global. */
mpistair_code *mpi_library_find_for(const char *name, const void *address);

/* Returns the function in the first object of the link map that has it; NULL if none has. */
mpistair_code *mpi_library_find_anywhere(const char *name);

/* Returns how many MPI libraries are loaded that cannot be in one process. The standard ABI's (libmpi_abi) may have
 * another MPI behind it: the program calls the one that was loaded first. */
unsigned mpi_library_count(void);

/* Returns whether an object before us in search order defines MPI_X `name`. */
bool mpi_library_is_wrapped_in_front(const char *name);

/* Returns whether a tool behind us wraps the function whose MPI_X and PMPI_X behind us are next and pnext. */
bool mpi_library_is_wrapped_behind(mpistair_code *next, mpistair_code *pnext);

/* The MPI to which the functions found belong. */
struct mpi_identity {
    enum spool_family family; /* SPOOL_FAMILY_UNKNOWN: none that we know */
    bool is_abi;              /* it has the standard ABI of MPI 5.0 */
    char said[256];           /* the first line of what it says of itself, cut */
};

/* Asks the MPI by its MPI_Get_library_version and MPI_Abi_get_version (NULL: it has none). */
struct mpi_identity mpi_library_identify(mpistair_code *get_library_version, mpistair_code *abi_get_version);

/* Returns whether a file is of the standard ABI, by its name: MPI_X and PMPI_X may lie in two of them. */
bool mpi_library_is_abi_name(const char *path);

/* Returns whether an MPI is loaded under the name `soname`. */
bool mpi_library_is_loaded(const char *soname);

/* Returns whether the program itself defines MPI (it was linked to it statically): its calls then never reach a
 * preloaded library. A program without symbol table does not show it. */
bool mpi_library_is_static(void);

#endif

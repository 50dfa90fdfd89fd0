/* Finds the MPI in this process: where its functions are, how many MPIs there are, of which family it is. */
#ifndef MPISTAIR_PRELOAD_MPI_LIBRARY_H
#define MPISTAIR_PRELOAD_MPI_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "interpose/preload/bind.h"
#include "interpose/spool/event.h"

/* Returns the function `name` ("MPI_Send") behind us in search order, else in the only MPI of the link map; NULL if it
 * is not there, or there are several MPIs, none of which is in the global scope. */
mpistair_code *mpi_library_find(const char *name);

/* Returns the function as the object that holds `address` would find it without us, in its own dependencies; NULL if it
 * is not there. It serves processes with several MPIs, none of them global. */
mpistair_code *mpi_library_find_for(const char *name, const void *address);

/* Returns the function in the first object of the link map that has it; NULL if none has. */
mpistair_code *mpi_library_find_anywhere(const char *name);

/* Returns how many MPI libraries are loaded. */
unsigned mpi_library_count(void);

/* Says whether what stands before us defines MPI_X `name`. */
bool mpi_library_is_wrapped_in_front(const char *name);

/* Says whether a tool behind us does, where next and pnext are MPI_X and PMPI_X behind us. */
bool mpi_library_is_wrapped_behind(mpistair_code *next, mpistair_code *pnext);

/* Returns the family of the MPI that MPI_Get_library_version (taken as an argument) describes. *said gets its first
 * line (cut to size). Returns SPOOL_FAMILY_UNKNOWN where it is none that we can record. */
enum spool_family mpi_library_family(mpistair_code *get_library_version, char *said, size_t size);

/* Says whether an MPI is loaded under the name `soname`. */
bool mpi_library_is_loaded(const char *soname);

/* Says whether the program itself defines MPI (it was linked to it statically): its calls then never reach a preloaded
 * library. A program without symbol table does not show it. */
bool mpi_library_is_static(void);

/* Returns the last component of a path. */
const char *base_name(const char *path);

#endif

/* Finds functions of the MPI such that nobody who stands before it sees their calls, the preload library included. */
#ifndef MPISTAIR_APPS_MPI_ITSELF_H
#define MPISTAIR_APPS_MPI_ITSELF_H

/* Is converted to the type that the caller knows. */
typedef void (*mpi_function)(void);

/* Returns the function of that name in the MPI that is loaded; ends the program where there is none. */
mpi_function mpi_itself(const char *name);

#endif

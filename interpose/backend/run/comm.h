/* The communicator of what the recorder says to itself: MPI_COMM_WORLD, or a copy of it at the end (lifecycle.c). It is
 * apart from struct run, so that the files that know no MPI are compiled once for all. */
#ifndef MPISTAIR_BACKEND_RUN_COMM_H
#define MPISTAIR_BACKEND_RUN_COMM_H

#include <mpi.h>

extern MPI_Comm run_comm;

#endif

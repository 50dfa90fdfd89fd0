/* Carries the recorder's own communication, over MPI_COMM_WORLD itself. */
#ifndef MPISTAIR_BACKEND_WORLD_COMM_H
#define MPISTAIR_BACKEND_WORLD_COMM_H

#include "interpose/backend/run/run.h"

/* Make run->comm MPI_COMM_WORLD between the two calls. Both are local. */
void world_comm_begin(struct run *run);
void world_comm_end(struct run *run);

/* Makes errors return to us until world_comm_end, which brings the application's error handler back. For MPI_Finalize
 * only: at MPI_Init MPICH has no handler set, so that an error in a copy of MPI_COMM_WORLD takes the handler that
 * MPI_COMM_WORLD has by then, and "no handler" cannot be set again. */
void world_comm_return_errors(void);

/* Makes run->comm a copy that world_comm_end frees, for MPI_Finalize before point-to-point messages: a receive from
 * anybody that the application left behind must not take them. Collective; returns 0, or -1 in every process. */
int world_comm_separate(struct run *run);

#endif

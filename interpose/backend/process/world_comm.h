/* The recorder's own communication, over MPI_COMM_WORLD itself. */
#ifndef MPISTAIR_BACKEND_WORLD_COMM_H
#define MPISTAIR_BACKEND_WORLD_COMM_H

#include "interpose/backend/process/run.h"

/* Between the two, run->comm is MPI_COMM_WORLD. Both are local. */
void world_comm_begin(struct run *run);
void world_comm_end(struct run *run);

/* Errors return to us until world_comm_end, which brings the application's error handler back. For MPI_Finalize: what
 * MPICH has at MPI_Init is no handler, which stands for that of MPI_COMM_WORLD at the time of an error in its copies,
 * and cannot be set again. */
void world_comm_return_errors(void);

/* Returns 0 or -1 once all processes of run->comm have called this; never, where one was started without us. */
int world_comm_meet(const struct run *run);

/* Makes run->comm a copy that world_comm_end frees. For MPI_Finalize, before point-to-point messages: a receive from
 * anybody that the application left behind must not take them. Collective; 0, or -1 in every process. */
int world_comm_separate(struct run *run);

#endif

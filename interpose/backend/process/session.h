/* Families session_init and session_finalize record processes that use MPI without MPI_Init, or beside it.
 *
 * MPI_Session_init is local, so the recorder may not communicate in it and starts alone. Rank and size are those of the
 * process set mpi://WORLD, the run's name comes from the launcher, clocks have no links, and whoever is first on a host
 * writes its topology. Recording ends when the last session is finalised and MPI_Init, if it was called, has met its
 * MPI_Finalize. */
#ifndef MPISTAIR_BACKEND_SESSION_H
#define MPISTAIR_BACKEND_SESSION_H

#include "interpose/backend/recorder/state.h"

#ifdef MPI_SESSION_NULL /* this MPI has sessions */

void session_init_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site);
void session_init_end(struct recorded_call *call, int result, MPI_Info info);

/* Closes the recorder before the last session goes. */
void session_finalize_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site);
void session_finalize_end(struct recorded_call *call, int result);

#endif

#endif

/* Is an MPI of a few functions for tests of the recorder with threads. It gives the handle of a request that is
 * complete or freed to the next thread at once, and reports the number of the thread that posted as source and tag. */
#ifndef MPISTAIR_TESTS_STAND_IN_MPI_H
#define MPISTAIR_TESTS_STAND_IN_MPI_H

#include "interpose/backend/wrappers.h"

/* Limit the threads, and the requests of a thread whose handles are new. */
enum { STAND_IN_THREADS = 8, STAND_IN_NEW = 4000 };

/* Says where the handles of the calling thread come from: a few, so that requests share one; enough that wander between
 * the threads all the same; or each is new. */
enum stand_in_handles { HANDLES_FEW, HANDLES_ENOUGH, HANDLES_NEW };

/* Is what the calling thread sets: its number, 1 to STAND_IN_THREADS, and its handles. */
extern _Thread_local int stand_in_number;
extern _Thread_local enum stand_in_handles stand_in_handles;

/* Returns what the recorder starts over. Called once. */
const struct mpistair_host *stand_in_mpi(void);

/* Does what MPI_Finalize does to the recorder: deletes the attribute of MPI_COMM_SELF. */
void stand_in_finalize(void);

#endif

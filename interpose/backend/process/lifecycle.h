/* Families init, finalize and abort record the two ends of a process. */
#ifndef MPISTAIR_BACKEND_LIFECYCLE_H
#define MPISTAIR_BACKEND_LIFECYCLE_H

#include "interpose/backend/recorder/state.h"

/* Agrees with the other processes on the run after MPI_Init succeeded, opens the spool and begins to record. Processes
 * that are not preloaded are waited for, then the others go on apart from each other (join.h). */
void init_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site);
void init_end(struct recorded_call *call, int result);

/* Closes the recorder in a delete callback of MPI_COMM_SELF, which is set at initialisation and so runs last; what
 * remains after MPI_Finalize is rank 0's ingest. */
void finalize_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site);
void finalize_end(struct recorded_call *call, int result);

/* Notes the end before MPI_Abort takes the process away. */
void abort_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site);
void abort_end(struct recorded_call *call, int result);

/* Ends the recording of a process that is alone. The caller holds the stage's lock. */
void lifecycle_end_alone(void);

/* Is mpistair_backend.start, see bind.h. */
int lifecycle_start(const struct mpistair_host *host);

#endif

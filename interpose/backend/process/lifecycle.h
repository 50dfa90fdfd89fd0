/* Families init, finalize, abort, session_init, session_finalize and pcontrol: where the recording of a process
 * begins, ends, and is switched off and on. */
#ifndef MPISTAIR_BACKEND_LIFECYCLE_H
#define MPISTAIR_BACKEND_LIFECYCLE_H

#include <mpi.h>

#include "interpose/backend/recorder/state.h"

/* Agrees with the other processes on the run after MPI_Init succeeded, opens the spool and begins to record. Processes
 * that are not preloaded are waited for, then the others go on apart from each other (join.h). */
void init_begin(struct recorded_call *call);
void init_end(struct recorded_call *call, int result);

/* What remains after MPI_Finalize is rank 0's ingest: the recorder closes in a delete callback of MPI_COMM_SELF,
 * which is set at initialisation and so runs last. */
void finalize_end(struct recorded_call *call, int result);

/* Notes the end before MPI_Abort takes the process away. */
void abort_begin(struct recorded_call *call);

#ifdef MPI_SESSION_NULL /* this MPI has sessions */

/* Processes that use MPI without MPI_Init, or beside it.
 *
 * MPI_Session_init is local, so the recorder may not communicate in it and starts alone. Rank and size are those of the
 * process set mpi://WORLD, the run's name comes from the launcher, clocks have no links, and whoever is first on a host
 * writes its topology. Recording ends when the last session is finalised and MPI_Init, if it was called, has met its
 * MPI_Finalize. */
void session_init_end(struct recorded_call *call, int result, MPI_Info info);

/* Closes the recorder before the last session goes. */
void session_finalize_begin(struct recorded_call *call);

#endif

/* MPI_Pcontrol switches recording off (0) and on (1), asks the kernel to write the calling thread's newest records to
 * the disk (2), and marks a place in the run with any other number. Every call leaves a SPOOL_MARK.
 *
 * While recording is off, operations, collectives and calls on windows and files keep their records, flagged
 * SPOOL_OFF: ranks may switch at different times, and what one of them does then must not shift the matching of what
 * the others do. Other calls are added to the totals. On and off hold for all threads of the process; a recording
 * window (window.h) may switch recording off besides. */
void pcontrol_begin(struct recorded_call *call, int level, const void *word);

/* mpistair_backend.start, see bind.h. */
int lifecycle_start(const struct mpistair_host *host);

#endif

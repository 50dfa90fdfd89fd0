/* Makes the trace of a job that `mpistair run` does not look after. */
#ifndef MPISTAIR_BACKEND_START_INGEST_H
#define MPISTAIR_BACKEND_START_INGEST_H

#include <stdint.h>

#include "interpose/backend/run/run.h"

/* Builds the trace after MPI_Finalize on rank 0, or says how. bytes counts all spools. */
void ingest_run(const struct run *run, uint64_t bytes);

/* Prints `what` and the command that makes the trace, where no process knows when the others end; nothing where
 * `mpistair run` makes it, or the user wants none. */
#define INGEST_SESSIONS "processes with MPI sessions end apart; once all have ended, the trace is made by"
void ingest_say(const struct run *run, const char *what);

#endif

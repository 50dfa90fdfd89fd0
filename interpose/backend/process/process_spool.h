/* Opens, describes and closes the spool of this process, and tells at the end of a run that records were lost. */
#ifndef MPISTAIR_BACKEND_PROCESS_SPOOL_H
#define MPISTAIR_BACKEND_PROCESS_SPOOL_H

#include <mpi.h>

#include "interpose/backend/recorder/state.h"
#include "interpose/backend/run/run.h"
#include "interpose/spool/event.h"

/* Opens the spool and the tables of the recorder. world is the group whose ranks are the process's, and belongs to the
 * callee from now on; MPI_GROUP_NULL stands for that of MPI_COMM_WORLD. thread_level is 0 MPI_THREAD_SINGLE ... 3
 * MPI_THREAD_MULTIPLE. Returns 0, or an errno value after which there is no file. */
int process_spool_open(struct run *run, int thread_level, MPI_Group world);

/* Writes into the header what the run says. */
void process_spool_describe(const struct run *run, int thread_level, enum mpistair_function started_by);

/* Says on which clock bursts are cut: that of rank 0's node, which is so much ahead of this node's; NODE_CLOCK_UNKNOWN:
 * one that all nodes have. began_ns is when the last rank began, on rank 0's clock; 0: not known. Before much is
 * recorded. */
void process_spool_set_bursts(const struct run *run, int64_t root_ahead_ns, int64_t began_ns);

/* Counts passed-through calls in the spool from now on. */
void process_spool_count(void);

/* Notes how the process ended, and all that a reader of its spool needs of it. */
void process_spool_note_end(struct run *run, enum spool_end end);

/* Ends the recording with SPOOL_END_FINALIZE and brings the files to where they are looked for, unless they lie there.
 * Returns the bytes of the spool. */
uint64_t process_spool_close(struct run *run);

/* Leaves a mark of rank 0 in its folder: a process that sees it in its own folder shares that folder, and need not copy
 * at the end. */
void process_spool_set_marker(struct run *run);
int process_spool_sees_marker(const struct run *run);

/* Prints one line on stderr from rank 0 with what all processes lost, none where nothing was. Collective over
 * run_comm. header is that of this process's spool; NULL means that it has none, which was reported at the start. */
void process_spool_tell_losses(const struct run *run, const struct spool_header *header);

#endif

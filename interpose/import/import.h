/* Makes spools of what another tool recorded, so that ingest makes the trace of it as of our own recordings.
 *
 * * A reader goes through a foreign trace process by process and calls the functions below in the order of each
 * thread's calls; times are nanoseconds on one clock, from the start of the trace. What the format does not have
 * (call sites, places, processors) stays unknown. */
#ifndef MPISTAIR_IMPORT_IMPORT_H
#define MPISTAIR_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/functions.h"
#include "interpose/spool/event.h"
#include "share/base/error.h"

enum { IMPORT_MOST_RANKS = 1 << 16 };

/* What is known of the whole run. */
struct import_run {
    const char *folder;       /* of the spools */
    const char *format;       /* as in run.mpi_library: "OTF2 archive, Score-P 8.0" */
    const char *command;      /* the program's, or the file's name */
    bool may_be_incomplete;   /* files of some ranks may be missing; only of DUMPI */
    uint64_t started_unix_ns; /* 0: not known */
    int32_t n_ranks;
    int32_t thread_level; /* 0 to 3 */
};

struct import_process; /* one rank while it is written */

/* Begins the spool of a rank. host: its node; NULL: not known, then all are on one. Returns NULL with the reason. */
struct import_process *import_begin(const struct import_run *run, int32_t rank, const char *host, struct error *error);

/* Ends it; end_ns is the last moment of the process. Returns 0, or -1 with the reason: the disk is full. */
int import_end(struct import_process *process, uint64_t end_ns, struct error *error);

/* Ends it and removes its file, after an error. */
void import_cancel(struct import_process *process);

/* Removes the spools of a run, and its folder. */
void import_remove(const struct import_run *run);

/* Chooses the thread whose calls follow: 0, 1, ... */
void import_thread(struct import_process *process, uint32_t thread);

/* What a rank must say of a communicator before its first use. Indices 0 and 1 are MPI_COMM_WORLD and MPI_COMM_SELF,
 * which exist. */
struct import_communicator {
    uint32_t index;    /* from 2 on, in this process */
    uint32_t identity; /* the same in all processes of the run that have it */
    int32_t leader;    /* world rank of its rank 0 */
    int32_t size;
    int32_t rank;          /* own rank in it */
    uint64_t members_hash; /* over all its members' world ranks (import_hash) */
};
void import_communicator(struct import_process *process, const struct import_communicator *communicator,
                         uint64_t at_ns);
uint64_t import_hash(uint64_t hash, int32_t world_rank); /* begins with 0 */

/* Returns what is to be said of a communicator whose members[n] are known; rank is -1 where the process is none. */
struct import_communicator import_members(const struct import_process *process, uint32_t index, uint32_t identity,
                                          const int32_t *members, int32_t n);

/* A call while it lasts, and what it posts. */
struct import_call {
    enum mpistair_function function;
    uint64_t begin_ns, end_ns;
};

/* Stores the post of an operation by a call; blocking ones are complete with it. Peer and tag may be SPOOL_ANY,
 * SPOOL_PROC_NULL. Where the end of the call is not known yet, its end_ns is 0, and import_returned follows. Returns
 * the record, which stays valid until it is complete and its call returned. NULL: there is no room. */
struct spool_operation *import_post(struct import_process *process, const struct import_call *call,
                                    enum spool_direction direction, uint32_t communicator, int32_t peer, int32_t tag,
                                    uint64_t bytes, bool blocking);

/* Says that the call posted another operation right before: the receive of MPI_Sendrecv. */
void import_same_call(struct spool_operation *operation);

/* Says when the call that posted it returned; completes a blocking operation. */
void import_returned(struct spool_operation *operation, uint64_t end_ns);

/* Completes a record at the return of the call that reported it. */
void import_complete(struct spool_operation *operation, uint64_t at_ns);

/* Notes which request of the foreign trace stands for an operation, until import_close returns that operation; NULL:
 * the request is not open. */
void import_open(struct import_process *process, uint64_t request, struct spool_operation *operation);
struct spool_operation *import_close(struct import_process *process, uint64_t request);

/* Stores a call that completed so many operations, or a probe. */
void import_timed_call(struct import_process *process, const struct import_call *call, uint32_t completed);

/* Stores a collective; root is the rank in the communicator, -1: none. */
void import_collective(struct import_process *process, const struct import_call *call, uint32_t communicator,
                       uint64_t bytes, int32_t root);

/* Returns the number of a function by its name ("MPI_Isend"), -1 if there is none. */
int import_function(const char *name);

/* Read a foreign trace into spools of run->folder, and set what they find of *run. Return 0, or -1 with file, line
 * or offset, and the reason. */
int import_otf2(const char *path, struct import_run *run, struct error *error);
int import_goal(const char *path, struct import_run *run, struct error *error);
int import_dumpi(const char *const *paths, size_t n, struct import_run *run, struct error *error);
int import_tit(const char *const *paths, size_t n, struct import_run *run, struct error *error);

#endif

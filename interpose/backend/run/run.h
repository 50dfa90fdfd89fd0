/* Holds what all processes of one run agree on, and where this process's files go. */
#ifndef MPISTAIR_BACKEND_RUN_H
#define MPISTAIR_BACKEND_RUN_H

#include <stdint.h>

#include "interpose/backend/run/run_facts.h"

/* Reads before MPI_Init what the environment says. Relative names there are relative to the folder started_in. */
void run_read_environment(struct run *run, const char *started_in);

/* Agrees after MPI_Init on the facts and on the nodes. Collective over run->comm, which must be set. Where a process is
 * `alone` already, all take over the name that it has. Returns 0, or -1 in every process. */
int run_agree(struct run *run);

/* Finds the facts without communication, from rank and size; the name comes from what the launcher gives alike to all
 * processes. Returns 0, or -1 where it gives nothing. */
int run_name_alone(struct run *run);

/* Makes the spool folder and the names of the files in it. Returns 0 or an errno value. */
int run_make_folder(struct run *run);

/* Returns this process's part of MPISTAIR_SPOOL_LIMIT, which is in bytes for each node; that of the default where it is
 * not set, or not understood, which rank 0 reports. */
uint64_t run_spool_limit_bytes(const struct run *run);

/* Returns this process's part of MPISTAIR_PREALLOCATE in the same way; the default is 0. */
uint64_t run_preallocate_bytes(const struct run *run);

#endif

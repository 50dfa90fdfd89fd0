/* Holds what all processes of one run agree on, and where this process's files go. */
#ifndef MPISTAIR_BACKEND_RUN_H
#define MPISTAIR_BACKEND_RUN_H

#include <stdint.h>

#include "interpose/backend/process/run_facts.h"

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

/* Returns MPISTAIR_SPOOL_LIMIT in bytes for each node; the default where it is not set, or not understood, which rank 0
 * reports. */
uint64_t run_spool_limit_bytes(const struct run *run);

/* Copies the process's address ranges for the call sites. Returns 0, or -1: an earlier copy stays as it is; without one
 * run->maps is empty. */
int run_copy_maps(struct run *run);

/* Copies at the end the files that rank 0 cannot see to OUTPUT.spool. Returns 0, or -1 (reported). */
int run_collect(struct run *run);

/* Removes this run's files in folder, and the folder where remove_folder is set. */
void run_remove_files(const struct run *run, const char *folder, int remove_folder);

/* Writes the node's topology as XML of hwloc into run->topology, unless another process made that file. Needs no MPI;
 * is quiet without hwloc. */
void topology_write(struct run *run);

/* Builds the trace after MPI_Finalize on rank 0, or says how. bytes counts all spools. */
void ingest_run(const struct run *run, uint64_t bytes);

/* Says how to build the trace where no process knows when the others end, unless somebody else builds it. what is the
 * line's beginning. */
#define INGEST_SESSIONS "processes with MPI sessions end apart; once all have ended, the trace is made by"
void ingest_say(const struct run *run, const char *what);

#endif

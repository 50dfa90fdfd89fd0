/* What a process learns of its launcher without asking other processes: from its environment, and from what /proc
 * says of its ancestors. */
#ifndef MPISTAIR_BACKEND_LAUNCHER_ENVIRONMENT_H
#define MPISTAIR_BACKEND_LAUNCHER_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

/* Writes a name for what one launcher started, the same in all MPI_COMM_WORLDs that it spawned; empty where nothing
 * tells it. */
void launcher_name(char *name, size_t size);

/* Writes a name that all processes of this MPI_COMM_WORLD share and others do not have, as far as the launcher gives
 * one. Returns 0, or -1 with name empty. */
int launcher_world(char *name, size_t size);

/* Returns a number that tells one start of the launcher on this node from any other; 0 if it is not known. */
uint64_t launcher_start(void);

/* Writes the world of the processes that spawned this one, as launcher_world names it there, and the rank of the root
 * of the spawn. Returns 0, or -1 with name empty: not spawned, or not known. */
int launcher_parent(char *name, size_t size, int *root);

/* Returns how many processes the launcher started together with this one, and sets the rank that it gives this one,
 * whatever MPI the launcher belongs to; 0 if it is not known. If launchers run within launchers, the one that started
 * this process alone counts. */
int launcher_size(int *rank);

/* Return the rank among the processes of this host, -1 if it is not known, and how many they are, 0 if it is not known.
 */
int launcher_local_rank(void);
int launcher_local_size(void);

/* Open MPI's launch by ssh passes to processes on other nodes only those variables of the launcher that -x or
 * mca_base_env_list name. With LD_PRELOAD set in the shell alone, the processes beside the launcher are preloaded and
 * the others are not. Agreeing on the run is collective and would hold the job at MPI_Init for ever.
 *
 * Returns 1 if this process is preloaded and those on other nodes surely are not, with the same answer in all processes
 * of this node; 0 if they are, or that is not known. Call it after MPI is initialised; it communicates nothing. */
int launcher_preloads_this_node_only(void);

#endif

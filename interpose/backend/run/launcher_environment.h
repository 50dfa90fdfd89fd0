/* Reads what the launcher tells its processes through their environment, for what they must know without asking each
 * other. */
#ifndef MPISTAIR_BACKEND_LAUNCHER_H
#define MPISTAIR_BACKEND_LAUNCHER_H

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
 * of the spawn. Returns 0, or -1 with name empty: not spawned, or not told. */
int launcher_parent(char *name, size_t size, int *root);

/* Returns how many processes the launcher started together with this one, and sets the rank that it gives this one,
 * whatever MPI the launcher belongs to; 0 if it is not known. If launchers run within launchers, the one that started
 * this process alone counts. */
int launcher_size(int *rank);

/* Return the rank among the processes of this host, -1 if it is not known, and how many they are, 0 if it is not known.
 */
int launcher_local_rank(void);
int launcher_local_size(void);

#endif

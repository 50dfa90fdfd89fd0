/* Reads a network as Slurm describes it (topology.conf of the plugin topology/tree): switches, the nodes that are
 * attached to them by name, and the switches above. */
#ifndef MPISTAIR_PREDICTOR_SLURM_TOPOLOGY_H
#define MPISTAIR_PREDICTOR_SLURM_TOPOLOGY_H

#include <stdbool.h>

#include "predictor/terms/topology.h"

/* Returns whether the file's first line that says something is of that form; false where it cannot be read. */
bool slurm_topology_is(const char *path);
/* Reads a topology of the kind TOPOLOGY_TREE. Returns 0, or -1 with file:line and what was expected; topology_release
 * in either case. */
int slurm_topology_read(const char *path, struct topology *topology, struct error *error);

#endif

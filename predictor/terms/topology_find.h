/* Finds the topology that a user names. */
#ifndef MPISTAIR_PREDICTOR_TOPOLOGY_FIND_H
#define MPISTAIR_PREDICTOR_TOPOLOGY_FIND_H

#include "predictor/terms/topology.h"

/* Finds NAME of share/topologies, or a file, of our form (.topo) or of Slurm's (topology.conf). Returns 0, or -1 with
 * file:line and what was expected in error, the topology untouched. */
int topology_find(const char *name_or_path, struct topology *topology, struct error *error);

#endif

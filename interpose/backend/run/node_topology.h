/* Leaves what a node looks like beside the spools. */
#ifndef MPISTAIR_BACKEND_NODE_TOPOLOGY_H
#define MPISTAIR_BACKEND_NODE_TOPOLOGY_H

#include "interpose/backend/run/run_facts.h"

/* Writes the node's topology as XML of hwloc into run->topology, unless another process made that file. Needs no MPI;
 * is quiet without hwloc. */
void topology_write(struct run *run);

#endif

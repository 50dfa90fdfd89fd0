/* What a spool says of its node: topology, clock, use of the processors, and the eager limits of the MPI. */
#ifndef MPISTAIR_BACKEND_NODE_H
#define MPISTAIR_BACKEND_NODE_H

#include <stdint.h>

#include "interpose/backend/run/run.h"
#include "interpose/spool/event.h"

/* Writes the node's topology as XML of hwloc into run->topology, unless another process made that file. Needs no MPI;
 * is quiet without hwloc. */
void node_write_topology(struct run *run);

/* Measures this leader's clock against that of its parent in the binary tree of leaders, and serves its children. All
 * leaders must call it (run->rank is in run->leaders). Takes about 10 ms a link, 60 ms where round trips are bad, and
 * at most twice that for each level of the tree. *root_ahead_ns becomes by how much the clock of rank 0's node is
 * ahead, NODE_CLOCK_UNKNOWN where that is not known. */
#define NODE_CLOCK_UNKNOWN INT64_MIN
struct spool_clock_link node_measure_clock_link(const struct run *run, int64_t *root_ahead_ns);

/* Returns what the leader of this node has found so. Leaders hand that in. NODE_CLOCK_UNKNOWN in all processes where it
 * is not known of one node. Collective over run_comm. */
int64_t node_agree_root_ahead(const struct run *run, int64_t root_ahead_ns);

/* Returns when the last process came here, on the clock of rank 0's node; 0 where that is not known. Collective
 * over run_comm. */
int64_t node_agree_begin(int64_t root_ahead_ns);

/* Returns how much of its node's processors this process has had so far. */
struct spool_processor_use node_processor_use(void);

/* Returns up to which size the MPI sends a message at once, in bytes: of the transport inside a node, or between
 * nodes, as the MPI itself has it; 0 if it is not known. Open MPI's limit includes up to 64 bytes of header. Call it
 * after MPI is initialised; it communicates nothing. */
uint64_t node_eager_limit_bytes(int between_nodes);

#endif

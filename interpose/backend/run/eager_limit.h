/* Finds up to which size the MPI sends a message at once, where it tells. */
#ifndef MPISTAIR_BACKEND_EAGER_LIMIT_H
#define MPISTAIR_BACKEND_EAGER_LIMIT_H

#include <stdint.h>

/* Returns the limit in bytes of the transport inside a node, or between nodes, as the MPI itself has it; 0 if it is not
 * known. Open MPI's limit includes up to 64 bytes of header. Call it after MPI is initialised; it communicates nothing.
 */
uint64_t eager_limit_bytes(int between_nodes);

#endif

/* Up to which size the MPI sends a message at once, where it tells. */
#ifndef MPISTAIR_BACKEND_EAGER_LIMIT_H
#define MPISTAIR_BACKEND_EAGER_LIMIT_H

#include <stdint.h>

/* The limit in bytes of the transport inside a node, or between nodes, as the MPI itself has it; 0: not
 * known. Of Open MPI it counts up to 64 bytes of header. Call after MPI is initialised; communicates nothing. */
uint64_t eager_limit_bytes(int between_nodes);

#endif

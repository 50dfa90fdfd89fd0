/* Measures what recording costs in this process. */
#ifndef MPISTAIR_BACKEND_OWN_COST_H
#define MPISTAIR_BACKEND_OWN_COST_H

#include <stdint.h>

/* Returns the picoseconds that recording adds to a nonblocking call; 0 if it was not measured (no memory). Takes less
 * than 0.5 ms, calls no MPI, leaves nothing in the spool. Call it once, while recording is on and the application does
 * not run yet. */
uint64_t own_cost_ps(void);

#endif

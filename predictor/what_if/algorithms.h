/* Prices the algorithms that an MPI can be told to take for a collective: each is replayed as messages on a machine. */
#ifndef MPISTAIR_PREDICTOR_ALGORITHMS_H
#define MPISTAIR_PREDICTOR_ALGORITHMS_H

#include "calibrate/machine/machine.h"
#include "predictor/run/run_program.h"
#include "share/base/placement.h"

/* Members beyond which none is priced: an algorithm may have a message for each pair. */
enum { ALGORITHMS_MOST_MEMBERS = 256 };

struct algorithm_price {
    const char *name;     /* as the variable of the MPI takes it */
    double seconds;       /* from the arrival of all members to the end of the last one */
    double low_s, high_s; /* by the intervals of the table */
};

/* Finds the algorithm with the lowest price among those of the program's MPI. placement has all ranks of the program.
 * Returns false for a collective that is not priced: one that combines data or has a size for each member, since
 * neither is in a table; with too many members; of a level that the table lacks. low_s and high_s are not set. */
bool algorithms_best(const struct run_program *program, uint32_t collective, const struct machine *machine,
                     const struct placement *placement, struct algorithm_price *best);
/* Sets low_s and high_s of what algorithms_best found; to `seconds` where the table has no intervals. */
void algorithms_interval(const struct run_program *program, uint32_t collective, const struct machine *machine,
                         const struct placement *placement, struct algorithm_price *best);

#endif

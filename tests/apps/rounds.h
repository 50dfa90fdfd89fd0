/* Declares small jobs of which a reader can say what their rounds are. Each file opens with what that reader would
 * draw. */
#ifndef MPISTAIR_TESTS_ROUNDS_H
#define MPISTAIR_TESTS_ROUNDS_H

#include "tests/apps/witness.h"

/* Run the jobs. Collective over MPI_COMM_WORLD; what is sent is counted in traffic. */
void rounds_master_worker(int steps, struct traffic *traffic);
void rounds_wavefront(int steps, struct traffic *traffic);
void rounds_double_buffer(int steps, struct traffic *traffic);
void rounds_standing_receive(int steps, struct traffic *traffic);

#endif

/* Executes T Algorithm 2: many-pair point-to-point communication (Thune et al. 2023, section III-A). */
#ifndef MPISTAIR_TESTS_MANY_PAIR_H
#define MPISTAIR_TESTS_MANY_PAIR_H

#include "tests/apps/witness.h"

#include <mpi.h>

struct many_pair_message {
    int peer;
    int count; /* items */
    void *buffer;
};

/* Holds one direction: all messages that this rank sends, or all that it receives. */
struct many_pair_side {
    int n_messages;
    struct many_pair_message *messages; /* [n_messages] */
    MPI_Request *requests;              /* [n_messages] */
};

/* Allocates both arrays for that many messages; many_pair_release() frees them, not the buffers. */
void many_pair_init(struct many_pair_side *side, int n_messages);
/* Makes all Isends, all Irecvs, then waits for each send, then for each receive. Counts what it sends in traffic. Fails
 * the job where a message is not as long as its receive. */
void many_pair_run(struct many_pair_side *send, struct many_pair_side *receive, MPI_Datatype type,
                   struct traffic *traffic);
void many_pair_release(struct many_pair_side *side);

#endif

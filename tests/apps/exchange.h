/* The halo exchange of a partitioned mesh: which values go to which rank, and T Algorithm 2 that moves them. */
#ifndef MPISTAIR_TESTS_EXCHANGE_H
#define MPISTAIR_TESTS_EXCHANGE_H

#include "mesh.h"
#include "traffic.h"

#include <mpi.h>

/* One direction: the messages to, or from, all neighbours. */
struct exchange_side {
    int n_neighbours;
    int *rank;             /* [n_neighbours] ascending */
    size_t *first;         /* [n_neighbours + 1] message j carries values first[j] ... first[j + 1] - 1 */
    int32_t *point;        /* [first[n_neighbours]] global number of each value's point, ascending in a message */
    double *buffer;        /* [first[n_neighbours]] */
    MPI_Request *requests; /* [n_neighbours] */
};

struct exchange {
    struct exchange_side send;
    struct exchange_side receive;
};

/* The plan of this rank; no communication, as every rank knows the mesh. exchange_release() frees. */
void exchange_plan(const struct mesh *mesh, int rank, struct exchange *exchange);
/* Sends send.buffer to the neighbours and fills receive.buffer with theirs: all Isends, all Irecvs, then a wait for
 * each, in the order of T Algorithm 2. What it sends is counted in traffic. */
void exchange_run(struct exchange *exchange, struct traffic *traffic);
void exchange_release(struct exchange *exchange);

#endif

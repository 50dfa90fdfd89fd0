/* Plans the halo exchange of a partitioned mesh: which values go to which rank. */
#ifndef MPISTAIR_TESTS_EXCHANGE_H
#define MPISTAIR_TESTS_EXCHANGE_H

#include "tests/apps/many_pair.h"
#include "tests/apps/halo_mesh.h"
#include "tests/apps/witness.h"

/* Holds one direction: the messages to, or from, all neighbours, by ascending rank. */
struct exchange_side {
    struct many_pair_side pairs;
    size_t n_values;
    int32_t *point; /* [n_values] global number of each value's point, message behind message, ascending in each */
    double *buffer; /* [n_values] what the messages carry */
};

struct exchange {
    struct exchange_side send;
    struct exchange_side receive;
};

/* Makes the plan of this rank, without communication, as every rank knows the mesh. exchange_release() frees. */
void exchange_plan(const struct mesh *mesh, int rank, struct exchange *exchange);
/* Sends send.buffer to the neighbours and fills receive.buffer with theirs. */
void exchange_run(struct exchange *exchange, struct traffic *traffic);
void exchange_release(struct exchange *exchange);

#endif

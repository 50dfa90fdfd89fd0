/* Completes a set of requests in each of the ways that MPI has. */
#ifndef MPISTAIR_TESTS_COMPLETION_H
#define MPISTAIR_TESTS_COMPLETION_H

#include <mpi.h>

#define COMPLETION_WAYS 10

/* Returns when all requests[n], null ones among them, are complete. way: 0 ... COMPLETION_WAYS - 1. */
void completion_run(int way, int n, MPI_Request *requests);

#endif

/* Families win_create, win_free, rma, win_test, rma_request record one-sided communication as timed calls, with the
 * bytes of those that move data.
 *
 * A window is numbered in this process and belongs to the communicator from which it was made. A transfer ends with a
 * synchronisation and not with its own call, so only the call is timed. Transfers that return a request end with it. */
#ifndef MPISTAIR_BACKEND_RMA_H
#define MPISTAIR_BACKEND_RMA_H

#include "interpose/backend/family/access.h"

struct rma_arguments {
    MPI_Win window;
    int target; /* MPI_PROC_NULL: none, or the call has none */
    int64_t origin_count, result_count;
    MPI_Datatype origin_type, result_type;
    MPI_Op op; /* MPI_NO_OP: the origin buffer is not read */
};

struct win_test_call {
    struct access_call access;
    MPI_Win window;
};

void rma_begin(struct access_call *rma, enum mpistair_function function, uint64_t site,
               const struct rma_arguments *arguments);
void rma_end(struct access_call *rma, int result);
void rma_request_end(struct access_call *rma, int result, const MPI_Request *request);

/* Record MPI_Win_test; unsuccessful calls are summed. */
void win_test_begin(struct win_test_call *test, enum mpistair_function function, uint64_t site,
                    const struct rma_arguments *arguments);
void win_test_end(struct win_test_call *test, int result, const int *flag);

void win_create_begin(struct access_call *rma, enum mpistair_function function, uint64_t site, MPI_Comm comm);
void win_create_end(struct access_call *rma, int result, const MPI_Win *made);

void win_free_begin(struct access_call *rma, enum mpistair_function function, uint64_t site, const MPI_Win *window);
void win_free_end(struct access_call *rma, int result);

#endif

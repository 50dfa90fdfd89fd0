/* Families win_create, win_free, rma, win_test, rma_request record one-sided communication as timed calls, with the
 * bytes of those that move data.
 *
 * A window is numbered in this process and belongs to the communicator from which it was made. A transfer ends with a
 * synchronisation and not with its own call, so only the call is timed. Transfers that return a request end with it. */
#ifndef MPISTAIR_BACKEND_RMA_H
#define MPISTAIR_BACKEND_RMA_H

#include "interpose/backend/table/communicator.h"
#include "interpose/backend/table/datatype.h"
#include "interpose/backend/recorder/recorder.h"
#include "interpose/backend/recorder/sum.h"

struct rma_arguments {
    MPI_Win window;
    int target; /* MPI_PROC_NULL: none, or the call has none */
    int64_t origin_count, result_count;
    MPI_Datatype origin_type, result_type;
    MPI_Op op; /* MPI_NO_OP: the origin buffer is not read */
};

struct rma_call {
    struct recorded_call call;
    struct spool_rma *record; /* NULL: lost, not recorded, or summed */
    int summed;               /* added to a sum, with key and bytes, when it ends */
    struct sum_key key;
    uint64_t bytes;
    uintptr_t window; /* win_free: what the table held */
    MPI_Win handle;
};

void rma_begin(struct rma_call *rma, enum mpistair_function function, uint64_t site,
               const struct rma_arguments *arguments);
void rma_end(struct rma_call *rma, int result);
void rma_request_end(struct rma_call *rma, int result, const MPI_Request *request);

/* Record MPI_Win_test; unsuccessful calls are summed. */
void win_test_begin(struct rma_call *rma, enum mpistair_function function, uint64_t site,
                    const struct rma_arguments *arguments);
void win_test_end(struct rma_call *rma, int result, const int *flag);

void win_create_begin(struct rma_call *rma, enum mpistair_function function, uint64_t site, MPI_Comm comm);
void win_create_end(struct rma_call *rma, int result, const MPI_Win *made);

/* The handle is forgotten before the call, since another thread may be given it at once. */
void win_free_begin(struct rma_call *rma, enum mpistair_function function, uint64_t site, const MPI_Win *window);
void win_free_end(struct rma_call *rma, int result);

#endif

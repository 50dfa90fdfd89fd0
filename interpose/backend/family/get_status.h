/* Families request_get_status_any, request_get_status_all and request_get_status_some of MPI 4.1 tell which of several
 * requests are done, and leave them as they are; the call that completes a request does not report it again. */
#ifndef MPISTAIR_BACKEND_GET_STATUS_H
#define MPISTAIR_BACKEND_GET_STATUS_H

#include "interpose/backend/family/completion.h"

void request_get_status_any_begin(struct completion_call *completion, enum mpistair_function function, uint64_t site,
                                  int64_t n, const MPI_Request *requests, MPI_Status **status);
void request_get_status_any_end(struct completion_call *completion, int result, const int *index, const int *flag);

void request_get_status_all_begin(struct completion_call *completion, enum mpistair_function function, uint64_t site,
                                  int64_t n, const MPI_Request *requests, MPI_Status **statuses);
void request_get_status_all_end(struct completion_call *completion, int result, const int *flag);

void request_get_status_some_begin(struct completion_call *completion, enum mpistair_function function, uint64_t site,
                                   int64_t n, const MPI_Request *requests, MPI_Status **statuses);
void request_get_status_some_end(struct completion_call *completion, int result, const int *n_done, const int *indices);

#endif

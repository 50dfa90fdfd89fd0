/* Family collective_init: MPI_Barrier_init and the like. Every start of such a request is a nonblocking collective. */
#ifndef MPISTAIR_BACKEND_PERSISTENT_COLLECTIVE_H
#define MPISTAIR_BACKEND_PERSISTENT_COLLECTIVE_H

#include "interpose/backend/family/collective.h"
#include "interpose/backend/family/persistent.h"

void collective_init_begin(struct persistent_call *init, enum mpistair_function function, uint64_t site,
                           const struct collective_arguments *arguments);
void collective_init_end(struct persistent_call *init, int result, const MPI_Request *request);

#endif

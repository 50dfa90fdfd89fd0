/* Family comm_idup: MPI_Comm_idup, whose communicator exists only when its request is complete.
 *
 * Its number on the parent is taken at the call, as all members call their creations in one order. Its members are
 * asked for when a call reports the request. Both MPIs store the new handle before the call returns (Open MPI's Fortran
 * layer relies on that: the variable that it hands on is gone afterwards), so it is read there. */
#ifndef MPISTAIR_BACKEND_IDUP_H
#define MPISTAIR_BACKEND_IDUP_H

#include "interpose/backend/family/creation.h"

void comm_idup_begin(struct creation_call *creation, enum mpistair_function function, uint64_t site, MPI_Comm parent);
void comm_idup_end(struct creation_call *creation, int result, const MPI_Comm *made, const MPI_Request *request);

#endif

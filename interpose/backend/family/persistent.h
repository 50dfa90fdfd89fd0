/* Families persistent_init, start and startall: requests that are started again and again.
 *
 * An initialisation stores a SPOOL_PERSISTENT record and remembers what its starts have in common; every start posts a
 * record of its own, which the request stands for until a call reports it. The handle stays, so what that call
 * reports decides, not the handle. Kinds of persistent requests differ in what a start posts: start() is theirs.
 */
#ifndef MPISTAIR_BACKEND_PERSISTENT_H
#define MPISTAIR_BACKEND_PERSISTENT_H

#include "interpose/backend/family/operation.h"
#include "interpose/backend/table/persistent_request.h"
#include "interpose/backend/table/request_table.h"

struct persistent_call {
    struct recorded_call call;
    struct persistent *persistent; /* NULL: not recorded, or no memory */
};

/* A persistent request with the next number, facts as given; type, function, number, ticks and site are filled in
 * from the call. Its record is stored. NULL: no memory, counted. */
struct persistent *persistent_new(const struct recorded_call *call, const struct spool_persistent *facts);

/* Ends the initialising call: from now on the handle stands for it; a failed one is freed. */
void persistent_ready(const struct recorded_call *call, struct persistent *persistent, int result,
                      const MPI_Request *request);

/* persistent_init: MPI_Send_init, its modes, and MPI_Recv_init (direction by function). */
void persistent_init_begin(struct persistent_call *init, enum mpistair_function function, uint64_t site, int64_t count,
                           MPI_Datatype datatype, int peer, int tag, MPI_Comm comm);
void persistent_init_end(struct persistent_call *init, int result, const MPI_Request *request);

/* start, startall: handles before the call, since Open MPI may exchange one. */
struct start_call {
    struct recorded_call call;
    int n;
    MPI_Request *before; /* [n] */
    MPI_Request one_before;
};

void start_begin(struct start_call *start, enum mpistair_function function, uint64_t site, const MPI_Request *request);
void start_end(struct start_call *start, int result, const MPI_Request *request);
void startall_begin(struct start_call *start, enum mpistair_function function, uint64_t site, int64_t n,
                    const MPI_Request *requests);
void startall_end(struct start_call *start, int result, const MPI_Request *requests);

/* Fills in, of an operation that a start posts, what its request knows; flags besides SPOOL_STARTED. */
void persistent_describe(const struct persistent *persistent, struct spool_operation *operation, unsigned flags);

#endif

/* Families persistent_init, start and startall record requests that are started again and again.
 *
 * An initialisation stores a SPOOL_PERSISTENT record and remembers what its starts have in common. Every start posts a
 * record of its own, for which the request stands until a call reports it. The handle stays, so what that call reports
 * decides, not the handle. Kinds of persistent requests differ in what a start posts: each has its own start(). */
#ifndef MPISTAIR_BACKEND_PERSISTENT_H
#define MPISTAIR_BACKEND_PERSISTENT_H

#include "interpose/backend/family/operation.h"
#include "interpose/backend/table/persistent_request.h"
#include "interpose/backend/table/request_table.h"

struct persistent_call {
    struct recorded_call call;
    struct persistent *persistent; /* NULL: not recorded, or no memory */
};

/* Returns a persistent request with the next number and the given facts; type, function, number, ticks and site come
 * from the call. Its record is stored. Returns NULL without memory, which is counted. */
struct persistent *persistent_new(const struct recorded_call *call, const struct spool_persistent *facts);

/* Ends the initialising call: from now on the handle stands for it; a failed one is freed. */
void persistent_ready(const struct recorded_call *call, struct persistent *persistent, int result,
                      const MPI_Request *request);

/* Family persistent_init records MPI_Send_init, its modes, and MPI_Recv_init; the function tells the direction. */
void persistent_init_begin(struct persistent_call *init, enum mpistair_function function, uint64_t site,
                           const void *buffer, int64_t count, MPI_Datatype datatype, int peer, int tag, MPI_Comm comm);
void persistent_init_end(struct persistent_call *init, int result, const MPI_Request *request);

/* Families start, startall: handles are kept from before the call, since Open MPI may exchange one. */
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

/* Fills in what the request knows about an operation that a start posts; flags come on top of SPOOL_STARTED. */
void persistent_describe(const struct persistent *persistent, struct spool_operation *operation, unsigned flags);

#endif

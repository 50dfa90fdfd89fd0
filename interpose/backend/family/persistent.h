/* Families persistent_init, collective_init, partitioned_init, start, startall, pready... and parrived record requests
 * that are started again and again.
 *
 * An initialisation stores a SPOOL_PERSISTENT record and remembers what its starts have in common. Every start posts
 * a record of its own, for which the request stands until a call reports it. The handle stays, so what that call
 * reports decides, not the handle. Kinds of persistent requests differ in what a start posts: each has its own
 * start(). */
#ifndef MPISTAIR_BACKEND_PERSISTENT_H
#define MPISTAIR_BACKEND_PERSISTENT_H

#include "interpose/backend/family/collective.h"
#include "interpose/backend/family/operation.h"
#include "interpose/backend/table/pending.h"
#include "interpose/backend/table/request_table.h"

struct persistent_call {
    struct recorded_call call;
    struct persistent *persistent; /* NULL: not recorded, or no memory */
};

/* Family persistent_init records MPI_Send_init, its modes, and MPI_Recv_init; the function tells the direction. */
void persistent_init_begin(struct persistent_call *init, const void *buffer, int64_t count, MPI_Datatype datatype,
                           int peer, int tag, MPI_Comm comm);
void persistent_init_end(struct persistent_call *init, int result, const MPI_Request *request);

/* Families start, startall: handles are kept from before the call, since Open MPI may exchange one. */
struct start_call {
    struct recorded_call call;
    int n;
    MPI_Request *before; /* [n] */
    MPI_Request one_before;
};

void start_begin(struct start_call *start, int64_t n, const MPI_Request *requests);
void start_end(struct start_call *start, int result, const MPI_Request *requests);

/* MPI_Barrier_init and the like: every start of such a request is a nonblocking collective. */
void collective_init_begin(struct persistent_call *init, const struct collective_arguments *arguments);

/* MPI_Psend_init and MPI_Precv_init have count elements in each partition. Every start is an operation with a record
 * of its partitions right behind it. Any thread stores the first and last times into it, and how many partitions
 * were marked ready or seen to arrive. With MPISTAIR_PARTITIONS=1 each partition has a record of its own as well. */
void partitioned_init_begin(struct persistent_call *init, const void *buffer, int64_t partitions, int64_t count,
                            MPI_Datatype datatype, int peer, int tag, MPI_Comm comm);

struct partition_call {
    struct recorded_call call;
    struct spool_partitions *partitions; /* those of the started operation; NULL: not known */
    int first, n;
    const int *list; /* [n]; NULL: from first on */
};

/* Record MPI_Pready and its kin: list[n], or n partitions from first on. A partition's time is that of the call's
 * entry, after which another thread may free the request. */
void pready_begin(struct partition_call *ready, int first, int n, const int *list, MPI_Request request);
void pready_end(struct partition_call *ready, int result);
void pready_range_begin(struct partition_call *ready, int low, int high, MPI_Request request);

/* Records an answer yes at the call's return, and an answer no as an unsuccessful test. */
void parrived_begin(struct partition_call *arrived, int partition, MPI_Request request);
void parrived_end(struct partition_call *arrived, int result, const int *flag);

#endif

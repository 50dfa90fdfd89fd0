/* Families partitioned_init, pready, pready_range, pready_list and parrived record partitioned messages. Every start of
 * such a request is an operation with a record of its partitions right behind it. Any thread stores the first and last
 * times into it, and how many partitions were marked ready or seen to arrive. With MPISTAIR_PARTITIONS=1 each partition
 * has a record of its own as well. */
#ifndef MPISTAIR_BACKEND_PARTITIONED_H
#define MPISTAIR_BACKEND_PARTITIONED_H

#include "interpose/backend/family/persistent.h"

/* MPI_Psend_init and MPI_Precv_init have count elements in each partition. */
void partitioned_init_begin(struct persistent_call *init, enum mpistair_function function, uint64_t site,
                            const void *buffer, int64_t partitions, int64_t count, MPI_Datatype datatype, int peer,
                            int tag, MPI_Comm comm);
void partitioned_init_end(struct persistent_call *init, int result, const MPI_Request *request);

struct partition_call {
    struct recorded_call call;
    struct spool_partitions *partitions; /* those of the started operation; NULL: not known */
    int first, n;
    const int *list; /* [n]; NULL: from first on */
};

/* Record MPI_Pready and its kin. A partition's time is that of the call's entry, after which another thread may free
 * the request. */
void pready_begin(struct partition_call *ready, enum mpistair_function function, uint64_t site, int partition,
                  MPI_Request request);
void pready_end(struct partition_call *ready, int result);
void pready_range_begin(struct partition_call *ready, enum mpistair_function function, uint64_t site, int low, int high,
                        MPI_Request request);
void pready_list_begin(struct partition_call *ready, enum mpistair_function function, uint64_t site, int n,
                       const int *list, MPI_Request request);

/* Records an answer yes at the call's return, and an answer no as an unsuccessful test. */
void parrived_begin(struct partition_call *arrived, enum mpistair_function function, uint64_t site, int partition,
                    MPI_Request request);
void parrived_end(struct partition_call *arrived, int result, const int *flag);

#endif

/* The record of an operation between its post and its completion, by whatever call that is reported. */
#ifndef MPISTAIR_BACKEND_OPERATION_RECORD_H
#define MPISTAIR_BACKEND_OPERATION_RECORD_H

#include "interpose/backend/recorder/recorder.h"

/* What is below 0 and no name of MPI's is rejected, as the peer that nobody knows. */
static inline int32_t recorded_peer(int peer)
{
    return peer >= 0                ? peer
           : peer == MPI_PROC_NULL  ? SPOOL_PROC_NULL
           : peer == MPI_ANY_SOURCE ? SPOOL_ANY
                                    : SPOOL_UNKNOWN;
}

static inline int32_t recorded_tag(int tag)
{
    return tag >= 0 ? tag : SPOOL_ANY;
}

/* Flags of a receive for its wildcards. */
static inline unsigned wildcard_flags(int source, int tag)
{
    unsigned flags = (source == MPI_ANY_SOURCE ? (unsigned)SPOOL_ANY_SOURCE : 0U) |
                     (tag == MPI_ANY_TAG ? (unsigned)SPOOL_ANY_TAG : 0U);
    if (__builtin_expect(flags != 0, 0))
        need_statuses();
    return flags;
}

/* Resolves the wildcards of a record by what MPI reported; status as in operation_complete. */
void operation_resolve(struct spool_operation *operation, const MPI_Status *status, int ok);

/* Completes a record; status may be NULL (nothing is known of source and tag). error: what MPI says of it. */
void operation_complete(struct spool_operation *operation, const MPI_Status *status, int error, uint64_t ticks,
                        int16_t processor);

/* Completes the send and, right behind it, the receive of one call; status is the receive's. */
void operation_complete_two(struct spool_operation *send, const MPI_Status *status, int error, uint64_t ticks,
                            int16_t processor);

/* Asks MPI what became of a request that is about to be freed, where its message or whether it has one is not known:
 * of wildcards, and of what was cancelled. */
void operation_settle(struct spool_operation *operation, MPI_Request request);

#endif

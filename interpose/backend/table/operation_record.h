/* Keeps the record of an operation between its post and its completion, by whatever call that is reported. */
#ifndef MPISTAIR_BACKEND_OPERATION_RECORD_H
#define MPISTAIR_BACKEND_OPERATION_RECORD_H

#include "interpose/backend/recorder/state.h"

/* Returns the peer to record: a number below 0 that has no name in MPI is rejected by it, and stands for a peer that
 * nobody knows. */
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

/* Returns the flags of a receive for its wildcards. */
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

/* Completes a record; status may be NULL (nothing is known of source and tag). error is what MPI reported for it. */
void operation_complete(struct spool_operation *operation, const MPI_Status *status, int error, uint64_t ticks,
                        int16_t processor);

/* Completes the send and, right behind it, the receive of one call; status is the receive's. */
void operation_complete_two(struct spool_operation *send, const MPI_Status *status, int error, uint64_t ticks,
                            int16_t processor);

/* Asks MPI what became of a request that is about to be freed. This serves wildcards and cancelled requests, whose
 * message is not known, or not even whether they have one. */
void operation_settle(struct spool_operation *operation, MPI_Request request);

#endif

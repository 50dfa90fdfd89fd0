/* What a live request stands for, and what becomes of it when a call reports it complete.
 *
 * The table of requests knows a thing for each handle; its first byte is its type. Most are records in the spool that
 * wait for their end (SPOOL_OPERATION, SPOOL_COLLECTIVE, SPOOL_ACCESS). What needs more than that is a structure of the
 * recorder, whose type lies above all those of the spool. Of the two operations of MPI_Isendrecv the receive, which
 * lies right behind the send, stands for both. */
#ifndef MPISTAIR_BACKEND_PENDING_H
#define MPISTAIR_BACKEND_PENDING_H

#include <mpi.h>

#include "interpose/backend/recorder/state.h"

/* Returns the peer to record: a number below 0 that has no name in MPI is rejected by it, and is recorded as
 * an unknown peer. */
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

enum pending_type {
    PENDING_CALLBACK = 0x80, /* struct pending_callback */
};

/* Something whose end is not a time in a record, as with MPI_Comm_idup. The owner allocates it; `complete`
 * frees it, and runs once: at the call that reported the request (ok: MPI says that it succeeded), or with ok 0 where
 * the request was freed, or its handle was given out again unseen. thread is the calling thread. */
struct pending_callback {
    uint8_t type; /* PENDING_CALLBACK */
    void (*complete)(struct pending_callback *self, struct recorder_thread *thread, int ok, uint64_t ticks);
};

/* The moment and place of a completion. */
struct moment {
    uint64_t ticks;
    int16_t processor;
};

static inline struct moment moment_now(void)
{
    return (struct moment){now_ticks(), current_processor()};
}

static inline uint8_t pending_type(const void *pending)
{
    return *(const uint8_t *)pending;
}

/* Flags of an operation whose end is more than a time and a processor. */
#define PENDING_NOT_PLAIN (SPOOL_ANY_SOURCE | SPOOL_ANY_TAG | SPOOL_SAME_CALL)

/* Ends what a request stood for, reported by a call; the request is out of the table. status may be NULL (nothing is
 * known); error is what MPI reported for it. Returns how many operations this completed: 1, or 0 if it had been
 * reported before. pending_complete_any serves all that is not a plain operation. */
uint32_t pending_complete_any(void *pending, struct recorder_thread *thread, const MPI_Status *status, int error,
                              struct moment now);
static inline int pending_is_plain(const void *pending)
{
    const struct spool_operation *operation = pending;
    return pending_type(pending) == SPOOL_OPERATION && operation->complete_ticks == 0 &&
           !(operation->flags & PENDING_NOT_PLAIN);
}

static inline void pending_complete_plain(struct spool_operation *operation, struct moment now)
{
    operation->cpu_complete = now.processor;
    __atomic_store_n(&operation->complete_ticks, now.ticks, __ATOMIC_RELEASE);
}

static inline uint32_t pending_complete(void *pending, struct recorder_thread *thread, const MPI_Status *status,
                                        int error, struct moment now)
{
    struct spool_operation *operation = pending;
    if (!pending_is_plain(pending) || now.ticks <= operation->post_ticks || error != MPI_SUCCESS ||
        __atomic_load_n(&recorder.cancelled, __ATOMIC_RELAXED))
        return pending_complete_any(pending, thread, status, error, now);
    pending_complete_plain(operation, now);
    return 1;
}

/* Does the same for MPI_Request_get_status: the request is still in the table, and completing it later is not counted
 * again. */
uint32_t pending_report(void *pending, struct recorder_thread *thread, const MPI_Status *status, struct moment now);

/* Gives up a request that was freed (flag SPOOL_FREED), or whose handle came back unseen (flag 0): no call will report
 * its end. */
void pending_abandon(void *pending, struct recorder_thread *thread, unsigned flag);

/* Notes that the call that posted it returned after so many ticks. */
void pending_posted(void *pending, uint64_t ticks);

/* Sets a flag of the record, where it has flags. */
void pending_flag(void *pending, unsigned flag);

/* Posts what one start of a request begins, before MPI starts it. Returns the pending thing, NULL: lost. */
struct persistent;
typedef void *persistent_start(struct persistent *self, const struct recorded_call *call);

/* What the handle of a persistent request stands for, from its initialisation until it is freed. */
struct persistent {
    void *active; /* what the last start posted; NULL: inactive, or lost */
    persistent_start *start;
    struct spool_persistent facts;   /* as stored, except for the time in the call */
    struct spool_persistent *record; /* NULL: lost */
    unsigned flags;                  /* flags of what it posts: wildcards */
    unsigned memory;                 /* enum spool_memory of its buffer */
};

/* Frees the request: what is active goes on unreported. */
void persistent_free(struct persistent *persistent, struct recorder_thread *thread);

#endif

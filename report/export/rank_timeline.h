/* Goes through a trace rank by rank, in the order of time: calls of MPI, what they post, what completes in them.
 *
 * The rows come sorted from SQLite, whose sorter goes to disk; here is in memory only what is under way on one rank.
 *
 * A rank has *lanes*, one for each thread that calls MPI: the trace does not say which thread made a call, so a call
 * goes to a lane that is free. Where the threads of a process take turns in MPI (not MPI_THREAD_MULTIPLE), a call that
 * lies within another one is nested in it. */
#ifndef MPISTAIR_EXPORT_RANK_TIMELINE_H
#define MPISTAIR_EXPORT_RANK_TIMELINE_H

#include "report/export/timeline_event.h"

/* Says what is told, in the order of time on each lane: enter, then complete, then leave. Return 0, or -1 with the
 * reason. */
struct timeline_listener {
    void *context;
    int (*rank_begin)(void *context, uint32_t rank, int64_t begin_ns); /* its first call or, if earlier, its begin */
    int (*rank_end)(void *context, uint32_t rank, int64_t end_ns); /* end of its last call or, if later, of the rank */
    int (*enter)(void *context, const struct timeline_call *call);
    int (*leave)(void *context, const struct timeline_call *call);
    /* An operation is complete, on the lane where a call reported it. */
    int (*complete)(void *context, const struct timeline_op *op, uint32_t lane);
    /* A send's message has arrived, or it leaves nobody's hands; NULL: not wanted. */
    int (*arrive)(void *context, const struct timeline_op *op);
    int (*mark)(void *context, int64_t number, int64_t at_ns, uint32_t site);
};

/* Tells everything that is wanted. A rank without events has a begin and an end as well. Returns 0, or -1 with the
 * reason. */
int timeline_read(struct export *export, const struct export_names *names, const struct timeline_listener *listener);

#endif

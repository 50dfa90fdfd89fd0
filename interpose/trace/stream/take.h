/* Holds what the last reading (stream.c) knows of itself and of each rank, and takes a rank's records. */
#ifndef MPISTAIR_TRACE_TAKE_H
#define MPISTAIR_TRACE_TAKE_H

#include "interpose/trace/stream/background.h"
#include "interpose/trace/load/lanes.h"
#include "interpose/trace/stream/match.h"
#include "interpose/trace/stream/round.h"
#include "interpose/trace/rows/sink.h"
#include "interpose/trace/stream/step.h"
#include "interpose/trace/stream/timeline.h"
#include "interpose/trace/state/trace.h"

struct stream_rank {
    uint32_t rank;
    struct lanes lanes;
    struct timeline timeline;
    struct background background;
    struct stepper stepper;
    uint64_t n_operations;
    size_t next_collective; /* for the timeline */
    size_t next_in_mpi;     /* next collective, for the time in MPI */
    size_t next_access;
    uint32_t last; /* the operation before, TRACE_NONE: none */
    int64_t next_ns;
};

struct stream {
    struct trace *trace;
    struct matcher matcher;
    struct rounds rounds;
    struct sink *sink; /* NULL: only messages are wanted */
    void (*message)(void *context, const struct trace *trace, const struct trace_operation *send,
                    const struct trace_operation *receive);
    void *message_context;
    struct stream_rank *ranks; /* [world_size] */
    int64_t *starts_ns;        /* [n_nodes] begin of the earliest process of the node, from which windows count */
    uint32_t *alone;           /* [n_alone] operations without a partner, of this window */
    size_t n_alone;
    size_t alone_capacity;
    int64_t until_ns; /* end of the window */
    size_t n_read;    /* operations and calls in it */
    int64_t n_paired; /* messages that must be written */
};

/* Reads the records of a rank in the window, up to limit: then the window ends for all where this rank is. */
void take_records(struct stream *stream, struct stream_rank *rank, size_t limit);

#endif

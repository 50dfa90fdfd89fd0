/* Describes a call of MPI, and an operation that it posts. */
#ifndef MPISTAIR_EXPORT_TIMELINE_EVENT_H
#define MPISTAIR_EXPORT_TIMELINE_EVENT_H

#include "report/export/export_names.h"

enum timeline_op_kind { OP_SEND, OP_RECEIVE, OP_UNMATCHED, OP_COLLECTIVE, OP_ONE_SIDED, OP_FILE };

struct timeline_op {
    enum timeline_op_kind kind;
    int64_t id;               /* of the row in its table */
    int64_t post_ns, done_ns; /* done EXPORT_NOTHING: never reported */
    int64_t peer, comm, tag;  /* ranks of MPI_COMM_WORLD, ids; EXPORT_NOTHING: none, not known */
    int64_t bytes;
    int64_t received_ns; /* of a send: when its receive was complete */
    int64_t window;      /* of one-sided ones; of calls on files the file */
    uint32_t function;   /* what it is; of a persistent one the function that made its request */
    bool nonblocking;    /* another call waits for it */
    bool sends;          /* of unmatched ones */
    bool cut;            /* a message that is not exported, as a side is not wanted */
    uint32_t lane;       /* where it was posted */
};

struct timeline_call {
    int64_t begin_ns, end_ns;
    uint32_t function, site; /* site NAME_NONE: not known */
    uint32_t lane, depth;    /* depth 0: the outermost call of its lane */
    int64_t idle_calls;      /* unsuccessful tests that it stands for; 0: a call */
    bool returned;           /* false: it never did; its end is that of the rank */
    bool timed;              /* false: the trace does not say how long it took */
    struct timeline_op *ops; /* [n_ops] what it posted */
    size_t n_ops;
    struct timeline_op first_done; /* of n_done operations that completed in it */
    size_t n_done;
};

#endif

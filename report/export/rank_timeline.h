/* Goes through a trace rank by rank, in the order of time: calls of MPI, what they post, what completes in them. The
 * formats that are timelines listen.
 *
 * The rows come sorted from SQLite, whose sorter goes to disk; memory holds only what is under way on one rank.
 *
 * A rank has *lanes*, one for each thread that calls MPI: the trace does not say which thread made a call, so a call
 * goes to a lane that is free. Where the threads of a process take turns in MPI (not MPI_THREAD_MULTIPLE), a call that
 * lies within another one is nested in it. */
#ifndef MPISTAIR_EXPORT_RANK_TIMELINE_H
#define MPISTAIR_EXPORT_RANK_TIMELINE_H

#include "report/export/trace_export.h"
#include "share/base/map.h"

/* What rows refer to by numbers: functions, forms of messages, call sites, communicators. */
#define NAME_NONE UINT32_MAX

struct name {
    const char *text;
    const char *json; /* the same with its quotes, as JSON has it */
};

struct named_function {
    struct name name;
    bool blocking; /* posts its operations and waits for them */
};

struct named_site {
    struct name place; /* "exchange halo.c:31" */
    struct name file;
    int64_t id, line; /* line -1: not known */
};

struct named_comm {
    struct name name;   /* what the program called it, else "communicator 3" */
    int64_t id, remote; /* remote -1: none */
};

struct form_side {
    uint32_t function, site; /* site NAME_NONE: not known */
    int64_t completed;       /* EXPORT_NOTHING: another operation stands for the call */
};

struct named_form {
    struct form_side side[2]; /* of the send, of the receive */
};

struct export_names {
    struct pool pool;
    struct named_function *functions;
    struct named_site *sites;
    struct named_comm *comms;
    struct named_form *forms;
    size_t n_functions, n_sites, n_comms, n_forms;
    struct map function_of_id, site_of_id, comm_of_id, form_of_id;
};

/* Reads them, and makes temp.export_function(id, name), id counting from 1 as functions do from 0. Returns 0, or -1
 * with the reason; export_names_release in either case. */
int export_names_read(struct export *export, struct export_names *names);
void export_names_release(struct export_names *names);

/* Returns an index, or NAME_NONE where the trace has no such row. */
uint32_t names_comm(const struct export_names *names, int64_t id);

/* Returns the name in a column of the present row, owned by pool. */
struct name name_of(struct cursor *rows, int column, struct pool *pool);

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
    uint32_t lane;
    int64_t idle_calls;      /* unsuccessful tests that it stands for; 0: a call */
    bool returned;           /* false: it never did; its end is that of the rank */
    bool timed;              /* false: the trace does not have how long it took */
    struct timeline_op *ops; /* [n_ops] what it posted */
    size_t n_ops;
    struct timeline_op first_done; /* of n_done operations that completed in it */
    size_t n_done;
};

/* The events of a rank, in the order of time on each lane: enter, then complete, then leave. arrive and mark may be
 * NULL: not wanted. */
struct timeline_listener {
    void *context;
    void (*rank_begin)(void *context, uint32_t rank, int64_t begin_ns); /* its first call or, if earlier, its begin */
    /* end_ns: end of its last call or, if later, of the rank. Returns 0, or -1 with the reason, which ends all. */
    int (*rank_end)(void *context, uint32_t rank, int64_t end_ns);
    void (*enter)(void *context, const struct timeline_call *call);
    void (*leave)(void *context, const struct timeline_call *call);
    /* An operation is complete, on the lane of the call that reported it. */
    void (*complete)(void *context, const struct timeline_op *op, uint32_t lane);
    void (*arrive)(void *context, const struct timeline_op *op); /* the message of a send has been received */
    void (*mark)(void *context, int64_t number, int64_t at_ns, uint32_t site);
};

/* Calls the listener for all that is selected. A rank without events has a begin and an end, too. Returns 0, or -1 with
 * the reason. */
int timeline_read(struct export *export, const struct export_names *names, const struct timeline_listener *listener);

#endif

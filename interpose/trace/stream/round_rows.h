/* Makes rows of complete rounds, of their messages, and of what is alone. It needs nothing of what is open, so that a
 * thread of its own can do it. */
#ifndef MPISTAIR_TRACE_ROUND_ROWS_H
#define MPISTAIR_TRACE_ROUND_ROWS_H

#include "interpose/trace/rows/sink.h"
#include "interpose/trace/state/trace.h"
#include "share/base/map.h"

enum late_cause { LATE_SENDER, LATE_RECEIVER, LATE_COUNT };

/* A side of a message that waited for the other one to post; late_ns 0: neither did. */
struct late {
    int64_t begin_ns, late_ns;
    enum late_cause cause;
};

/* One rank in a round. */
struct round_member {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t begin_in_mpi_ns;
    int64_t end_in_mpi_ns;
    uint32_t rank;
};

struct round_totals {
    const struct trace *trace;
    struct sink *sink;
    int64_t eager_bytes[2]; /* inside a node, between nodes; TRACE_NO_TIME: not known */
    struct map pair_numbers;
    struct pair_total *pairs; /* [n_pairs] by source, destination and form */
    size_t n_pairs;
    struct map member_numbers;
    struct member_total *members; /* [n_members] by kind and rank */
    size_t n_members;
    struct late_span *spans; /* [n_spans] waits in the round that is added next */
    size_t n_spans;
    size_t spans_capacity;
};

/* A round that nothing more can join; its messages and members stand one behind the other. */
struct complete_round {
    int64_t begin_ns; /* begin of its earliest step */
    uint64_t first;   /* (rank, step) of its first step, which decides between equal begins */
    size_t first_message;
    size_t n_messages;
    size_t first_member;
    size_t n_members; /* several may be of one rank */
};

struct complete_message {
    struct trace_operation send;
    struct trace_operation receive;
    int64_t round; /* id, 0: none, or not known yet */
};

/* What becomes rows, with copies of the operations; starts as zeroes. */
struct complete_rows {
    struct complete_round *rounds; /* [n_rounds] */
    size_t n_rounds;
    size_t rounds_capacity;
    struct complete_message *messages; /* [n_messages] */
    size_t n_messages;
    size_t messages_capacity;
    struct round_member *members; /* [n_members] */
    size_t n_members;
    size_t members_capacity;
    struct trace_operation *alone; /* [n_alone] without a partner, by rank, then in the order of posting */
    size_t n_alone;
    size_t alone_capacity;
    struct trace_operation *left_out; /* [n_left_out] without a row but that of their call */
    size_t n_left_out;
    size_t left_out_capacity;
    struct call_row *calls; /* [n_calls] */
    size_t n_calls;
    size_t calls_capacity;
};

void complete_rows_release(struct complete_rows *complete);

struct round_rows {
    struct trace *trace; /* of which it changes the kinds, the number of rounds, and ids of origins */
    struct sink *sink;
    struct round_totals totals;
    struct map kinds;
    struct map families; /* numbered as they come */
    int64_t n_rounds;
    /* Work space of [n_messages]: */
    uint32_t *numbers; /* of messages, which come from a pool with numbers of 32 bits */
    size_t numbers_capacity;
    struct late *lates;
    size_t lates_capacity;
};

void round_rows_begin(struct round_rows *rows, struct trace *trace, struct sink *sink);
/* Hands the rows to the sink, in the order of time, flushes that, and empties what was complete. Returns 0, or -1: the
 * database says why. */
int round_rows_write(struct round_rows *rows, struct complete_rows *complete);
/* Hands the sums over all messages and rounds to the sink, once all are written. */
void round_rows_end(struct round_rows *rows);
void round_rows_release(struct round_rows *rows);

#endif

/* Finds rounds, what several ranks did together, while their steps come in; and the kinds of rounds. */
#ifndef MPISTAIR_TRACE_ROUND_H
#define MPISTAIR_TRACE_ROUND_H

#include "interpose/trace/rows/sink.h"
#include "interpose/trace/state/trace.h"
#include "interpose/trace/stream/step.h"
#include "share/base/map.h"

/* The synchronising collectives of each rank by communicator, then by their number in the rank's own order. */
struct barriers {
    struct barrier *entries;
    size_t *first; /* [world_size + 1] where the entries of a rank begin */
};

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

/* A round that is written now. */
struct round_found {
    int64_t begin_ns; /* begin of its earliest step */
    uint64_t first;   /* (rank, step) of its first step, which decides between equal begins */
    uint32_t root;
};

/* A message whose row is written now. */
struct round_message {
    int64_t send_post_ns;
    uint32_t rank; /* rank of the receive */
    uint32_t receive;
    uint64_t sequence;
    int64_t round; /* 0: none */
    struct late late;
};

struct rounds {
    struct trace *trace;
    struct sink *sink;
    struct round_totals totals;
    struct barriers barriers;
    uint32_t first_free; /* index in trace.steps, linked through next */
    uint64_t n_opened;
    uint32_t *complete; /* [n_complete] representatives of rounds that nothing more can join */
    size_t n_complete;
    size_t complete_capacity;
    struct map kinds;
    struct map families; /* numbered as they come */
    int64_t n_rounds;
    struct round_found *found; /* work space for rounds_write */
    size_t found_capacity;
    struct round_member *members;
    size_t members_capacity;
    struct round_message *messages; /* [n_found_messages] messages whose row can be written */
    size_t n_found_messages;
    size_t messages_capacity;
};

/* Hands the rows of all complete rounds and of their messages to the sink, in the order of time. */
void rounds_write(struct rounds *rounds);

/* Begins without rounds. */
void rounds_begin(struct rounds *rounds, struct trace *trace, struct sink *sink);
/* Hands the sums over all messages and rounds to the sink, once all are written. */
void rounds_end(struct rounds *rounds);
void rounds_release(struct rounds *rounds);

/* The rank whose notes are taken. */
struct noted_rank {
    uint32_t rank;
    uint32_t step;        /* its open step, TRACE_NONE: none */
    uint32_t *operations; /* [capacity] the operations of the pool by their numbers in the notes */
    size_t capacity;
};

/* Takes what was found about the steps of a rank; its operations are in the pool. */
void rounds_take_notes(struct rounds *rounds, struct noted_rank *rank, const struct step_notes *notes);

/* Note that a receive met its send, or that an operation will never be part of a round's message. */
void round_match(struct rounds *rounds, uint32_t receive);
void round_give_up(struct rounds *rounds, uint32_t operation);

#endif

/* Holds what is known of rounds between their first step and their rows: finding them (round.c) and writing them
 * (round_write.c) share it. */
#ifndef MPISTAIR_TRACE_ROUND_SET_H
#define MPISTAIR_TRACE_ROUND_SET_H

#include "interpose/trace/stream/barriers.h"
#include "interpose/trace/state/trace.h"
#include "interpose/trace/rows/sink.h"
#include "share/base/map.h"

/* Holds a round that is written now. */
struct round_found {
    int64_t begin_ns; /* begin of its earliest step */
    uint64_t first;   /* (rank, step) of its first step, which decides between equal begins */
    uint32_t root;
};

/* Says what one rank was in a round. */
struct round_member {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t begin_in_mpi_ns;
    int64_t end_in_mpi_ns;
    uint32_t rank;
};

/* Holds a message whose row is written now. */
struct round_message {
    int64_t send_post_ns;
    uint32_t rank; /* rank of the receive */
    uint32_t receive;
    uint64_t sequence;
    int64_t round; /* 0: none */
};

struct rounds {
    struct trace *trace;
    struct sink *sink;
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

/* Returns the step that represents the round of a step. */
uint32_t round_root(struct trace_step *steps, uint32_t step);
/* Gives back all steps of a round. */
void round_free_steps(struct rounds *rounds, uint32_t root);

#endif

/* What finding rounds (round.c) and writing them (round_write.c) share. */
#ifndef MPISTAIR_TRACE_ROUND_WRITE_H
#define MPISTAIR_TRACE_ROUND_WRITE_H

#include "interpose/trace/stream/round.h"

/* A round that is written now. */
struct round_found {
    int64_t begin_ns; /* of its earliest step */
    uint64_t first;   /* (rank, step) of its first step, which decides between equal begins */
    uint32_t root;
};

/* What one rank was in a round. */
struct round_member {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t begin_busy_ns;
    int64_t end_busy_ns;
    uint32_t rank;
};

/* A message whose row is written now. */
struct round_message {
    int64_t send_post_ns;
    uint32_t rank; /* of the receive */
    uint32_t receive;
    uint64_t sequence;
    int64_t round; /* 0: none */
};

/* The step that represents the round of a step. */
uint32_t round_root(struct trace_step *steps, uint32_t step);
/* Gives back all steps of a round. */
void round_free_steps(struct rounds *rounds, uint32_t root);
/* A message whose row can be written, of round 0: none. 0, or -1 without memory. */
int round_add_message(struct rounds *rounds, uint32_t receive, int64_t round);

#endif

/* Finds rounds, what several ranks did together, while their steps come in; and the kinds of rounds. */
#ifndef MPISTAIR_TRACE_ROUND_H
#define MPISTAIR_TRACE_ROUND_H

#include "interpose/trace/stream/round_set.h"

/* Begins without rounds. */
void rounds_begin(struct rounds *rounds, struct trace *trace, struct sink *sink);
void rounds_release(struct rounds *rounds);

/* Open a step, widen it, and close it as soon as no operation of its rank can join it. */
uint32_t round_open_step(struct rounds *rounds, uint32_t rank, uint32_t n_barriers, int64_t begin_ns);
void round_extend_step(struct rounds *rounds, uint32_t step, int64_t end_ns);
void round_close_step(struct rounds *rounds, uint32_t step);

/* Put an operation into a step (TRACE_NONE: into none). Where that is not certain, it is placed or taken back later. */
void round_place(struct rounds *rounds, uint32_t operation, uint32_t step);
void round_hold(struct rounds *rounds, uint32_t operation, uint32_t step);
void round_take_back(struct rounds *rounds, uint32_t operation);

/* Note that a receive met its send, or that an operation will never be part of a round's message. */
void round_match(struct rounds *rounds, uint32_t receive);
void round_give_up(struct rounds *rounds, uint32_t operation);

#endif

/* Rounds: what several ranks did together, found while their steps come in; and their kinds. */
#ifndef MPISTAIR_TRACE_ROUND_H
#define MPISTAIR_TRACE_ROUND_H

#include "interpose/trace/stream/round_set.h"

/* 0, or -1 without memory. */
int rounds_begin(struct rounds *rounds, struct trace *trace, struct sink *sink);
void rounds_release(struct rounds *rounds);

/* A step: opened (TRACE_NONE: no memory), widened, and closed as soon as no operation of its rank can join it. */
uint32_t round_open_step(struct rounds *rounds, uint32_t rank, uint32_t epoch, int64_t begin_ns);
void round_extend_step(struct rounds *rounds, uint32_t step, int64_t end_ns);
void round_close_step(struct rounds *rounds, uint32_t step);

/* An operation belongs to a step, or perhaps: then it is placed or taken back later. A step of TRACE_NONE: to none.
 * round_place: 0, or -1 without memory. */
int round_place(struct rounds *rounds, uint32_t operation, uint32_t step);
void round_hold(struct rounds *rounds, uint32_t operation, uint32_t step);
void round_take_back(struct rounds *rounds, uint32_t operation);

/* A receive met its send (0, or -1 without memory); or an operation will never be part of a message of a round. */
int round_match(struct rounds *rounds, uint32_t receive);
void round_give_up(struct rounds *rounds, uint32_t operation);

#endif

/* Writes rows of rounds that are complete, and of messages whose round is known. */
#ifndef MPISTAIR_TRACE_ROUND_WRITE_H
#define MPISTAIR_TRACE_ROUND_WRITE_H

#include "interpose/trace/stream/round_set.h"

/* Adds a message whose row can be written; round 0 means none. */
void round_add_message(struct rounds *rounds, uint32_t receive, int64_t round);
/* Hands the rows of all complete rounds and of their messages to the sink, in the order of time. */
void rounds_write(struct rounds *rounds);

#endif

/* Rounds: the steps of ranks that exchange messages, and kinds: rounds of the same pattern. */
#ifndef MPISTAIR_TRACE_ROUND_H
#define MPISTAIR_TRACE_ROUND_H

#include "error.h"
#include "trace.h"

/* Fills rounds, round_processes, kinds, message_rounds and the round of every step. Needs steps_find. 0, or -1 without
 * memory. */
int rounds_find(struct trace *trace, struct error *error);

#endif

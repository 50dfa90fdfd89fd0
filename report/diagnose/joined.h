/* Counts the messages that could travel with the one before them.
 *
 * Two messages that a call site sends from one rank to another can be one where the second does not depend on an
 * answer to the first. A strand's *depth* is the longest chain of messages and collectives, each of which was received
 * or met before the next one was sent, that leads to where it is. An answer, by whatever way round it comes, makes it
 * grow by two and more; so messages of one depth hold no answers to each other. A ping-pong has none of these, nor has
 * a halo that is exchanged once a step. */
#ifndef MPISTAIR_REPORT_JOINED_H
#define MPISTAIR_REPORT_JOINED_H

#include "predictor/run/run_program.h"
#include "report/diagnose/pair_sums.h"

/* Sets `joined` of all pairs of ranks. What lies behind a message that the trace does not have counts for nothing.
 * Returns 0, or -1 without memory. */
int joined_count(const struct run_program *program, struct pair_sums *pairs);

#endif

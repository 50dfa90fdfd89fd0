/* Whether a synchronising collective lies between a step of one rank and a step of another. */
#ifndef MPISTAIR_TRACE_EPOCHS_H
#define MPISTAIR_TRACE_EPOCHS_H

#include "interpose/trace/memory/trace.h"

/* Of each rank the synchronising collectives, by communicator, then by their number in the rank's own order. */
struct epochs {
    struct epoch_entry *entries;
    size_t *first; /* [world_size + 1] of entries */
};

/* 0, or -1 without memory. */
int epochs_build(struct epochs *epochs, const struct trace *trace);
void epochs_release(struct epochs *epochs);

/* True if on some communicator the two ranks had taken part in different numbers of them. */
bool epochs_separate(const struct epochs *epochs, const struct trace_step *one, const struct trace_step *other);

/* Whether what lies before it and what lies behind it are different rounds: no process leaves it before all have
 * entered it, or it is a mark of the program's. Nonblocking and persistent collectives never do: none of their calls
 * waits for all, and at the one that reports their end other operations may well be pending that belong to the same
 * exchange. */
bool collective_bounds(const struct trace_collective *collective);

#endif

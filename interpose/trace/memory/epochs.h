/* Tells whether a synchronising collective lies between a step of one rank and a step of another. */
#ifndef MPISTAIR_TRACE_EPOCHS_H
#define MPISTAIR_TRACE_EPOCHS_H

#include "interpose/trace/memory/trace.h"

/* Holds the synchronising collectives of each rank by communicator, then by their number in the rank's own order. */
struct epochs {
    struct epoch_entry *entries;
    size_t *first; /* [world_size + 1] where the entries of a rank begin */
};

/* Counts the collectives of all ranks. */
void epochs_build(struct epochs *epochs, const struct trace *trace);
void epochs_release(struct epochs *epochs);

/* Returns true if on some communicator the two ranks had taken part in different numbers of collectives. */
bool epochs_separate(const struct epochs *epochs, const struct trace_step *one, const struct trace_step *other);

/* Says whether what lies before it and what lies behind it are different rounds: no process leaves it before all have
 * entered it, or the program set it as a mark. Nonblocking and persistent collectives never separate rounds: none of
 * their calls waits for all, and when one of them reports their end, other operations of the same exchange may be
 * pending. */
bool collective_bounds(const struct trace_collective *collective);

#endif

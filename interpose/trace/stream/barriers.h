/* Tells whether a synchronising collective lies between a step of one rank and a step of another. */
#ifndef MPISTAIR_TRACE_EPOCHS_H
#define MPISTAIR_TRACE_EPOCHS_H

#include "interpose/trace/state/trace.h"

/* The synchronising collectives of each rank by communicator, then by their number in the rank's own order. */
struct barriers {
    struct barrier *entries;
    size_t *first; /* [world_size + 1] where the entries of a rank begin */
};

/* Counts the collectives of all ranks. */
void barriers_build(struct barriers *barriers, const struct trace *trace);
void barriers_release(struct barriers *barriers);

/* Returns true if on some communicator the two ranks had taken part in different numbers of collectives. */
bool barriers_separate(const struct barriers *barriers, const struct trace_step *one, const struct trace_step *other);

#endif

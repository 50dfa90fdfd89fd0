/* Offers the event-driven staircase apart from the model, so that others can use it for the messages within a node.
 * staggered.c has the symbols. */
#ifndef MPISTAIR_PREDICTOR_STAGGERED_H
#define MPISTAIR_PREDICTOR_STAGGERED_H

#include "predictor/pattern/group.h"
#include "predictor/engine/moves.h"

/* Sets when each message of those levels that carries bytes is delivered: moves->delivered_s. Adds the values read
 * beyond the tables' ends to *extrapolated. O(M log M) where all bytes of a group are of one class, O(M N) for N ranks
 * where not. Returns 0, or -1 without memory. */
int staggered_move(const struct traffic *traffic, const struct placement *placement, unsigned levels,
                   enum group_by group_by, struct moves *moves, size_t *extrapolated);

#endif

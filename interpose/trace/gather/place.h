/* Finds where processes ran, and how far their messages went. */
#ifndef MPISTAIR_TRACE_PLACE_H
#define MPISTAIR_TRACE_PLACE_H

#include "share/base/error.h"
#include "share/base/placement.h"
#include "interpose/trace/state/trace.h"

/* Reads the nodes' topologies and sets placed, place and by_hand of all processes. placement is one by hand, or NULL.
 * Returns 0, or -1 with the reason: a placement of another number of ranks. */
int places_find(struct trace *trace, const struct placement *placement, struct error *error);

/* Returns the level (enum level) of a matched pair, -1 if it is not known. */
int32_t message_level(const struct trace *trace, const struct trace_operation *send,
                      const struct trace_operation *receive);

/* Does that for messages of two ranks anywhere in the run, by where they ran most. */
int32_t rank_level(const struct trace *trace, uint32_t from, uint32_t to);

#endif

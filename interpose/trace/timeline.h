/* What one rank did in the order of time: the events from which its steps are found. */
#ifndef MPISTAIR_TRACE_TIMELINE_H
#define MPISTAIR_TRACE_TIMELINE_H

#include "trace.h"

enum timeline_kind {
    EVENT_COMPLETE,   /* index: operation */
    EVENT_COLLECTIVE, /* one that bounds steps; index: collective */
    EVENT_POST,       /* index: operation that is not blocking */
    EVENT_BLOCKING,   /* index: operation, its whole call */
};

struct timeline_event {
    int64_t at_ns;
    uint32_t index;
    enum timeline_kind kind;
};

struct timeline {
    struct timeline_event *events; /* [n_events] */
    size_t n_events;
    struct timeline_event *completions; /* work space */
    size_t capacity;
};

/* Replaces the contents by the events of a rank. 0, or -1 without memory. */
int timeline_fill(struct timeline *timeline, const struct trace *trace, uint32_t rank);
void timeline_release(struct timeline *timeline);

/* Whether what lies before it and what lies behind it are different rounds: no process leaves it before all have
 * entered it, or it is a mark of the program's. Nonblocking and persistent collectives never do: none of their calls
 * waits for all, and at the one that reports their end other operations may well be pending that belong to the same
 * exchange. */
bool collective_bounds(const struct trace_collective *collective);

#endif

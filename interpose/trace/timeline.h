/* What one rank did in the order of time: the events from which its steps are found. */
#ifndef MPISTAIR_TRACE_TIMELINE_H
#define MPISTAIR_TRACE_TIMELINE_H

#include "trace.h"

enum timeline_kind {
    EVENT_COMPLETE,   /* index: operation */
    EVENT_COLLECTIVE, /* a synchronising one; index: collective */
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

/* Whether no process leaves the collective before all have entered it. */
bool collective_synchronises(uint16_t function);

#endif

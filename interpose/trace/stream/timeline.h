/* Queues what one rank did in the order of time. It is filled as the rank's records are read (background.c looks at
 * each event then), and emptied by step.c as soon as it is known which of the posts are background. */
#ifndef MPISTAIR_TRACE_TIMELINE_H
#define MPISTAIR_TRACE_TIMELINE_H

#include "interpose/trace/state/trace.h"

enum timeline_kind {
    EVENT_COMPLETE,   /* index: operation */
    EVENT_COLLECTIVE, /* a collective that bounds steps */
    EVENT_POST,       /* index: operation that is not blocking */
    EVENT_BLOCKING,   /* index: operation, its whole call */
    EVENT_CALL,       /* a completion call begins; index: its MPI function */
};

struct timeline_event {
    int64_t at_ns;
    uint32_t index;
    enum timeline_kind kind;
};

/* A completion that lies ahead. */
struct timeline_due {
    int64_t at_ns;
    uint64_t sequence; /* number of the post in its rank */
    uint32_t operation;
};

struct timeline {
    struct timeline_event *events; /* [n_events] from first on */
    size_t first;
    size_t n_events;
    size_t capacity;
    struct timeline_due *due; /* [n_due] a heap, the earliest first */
    size_t n_due;
    size_t due_capacity;
};

void timeline_add(struct timeline *timeline, struct timeline_event event);
/* Returns event i from the front, NULL if there is none yet. */
const struct timeline_event *timeline_at(const struct timeline *timeline, size_t i);
void timeline_take(struct timeline *timeline);

/* Note a completion that lies ahead, and take out the earliest (timeline->due[0]). */
void timeline_expect(struct timeline *timeline, struct timeline_due due);
void timeline_arrived(struct timeline *timeline);
void timeline_release(struct timeline *timeline);

#endif

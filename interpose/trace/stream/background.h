/* Finds operations that are pending in the background of what else a rank does. */
#ifndef MPISTAIR_TRACE_BACKGROUND_H
#define MPISTAIR_TRACE_BACKGROUND_H

#include "interpose/trace/state/trace.h"

/* What is known of one rank while its events come in; starts as zeroes. */
struct background {
    struct burst *bursts; /* [depth] that have or had something pending, the youngest last */
    size_t depth;
    size_t capacity;
    uint32_t n_bursts;
    uint32_t received; /* youngest burst of which a receive completed in this set, + 1; 0: none */
    bool completing;
};

/* Take the events of a rank in the order of time. They set `background` of operations, and `settled` as soon as that is
 * certain. */
void background_post(struct background *work, struct trace *trace, uint32_t operation);
void background_complete(struct background *work, struct trace *trace, uint32_t operation);
void background_blocking(struct background *work, struct trace *trace, uint32_t operation);
void background_collective(struct background *work, struct trace *trace);
void background_release(struct background *work);

#endif

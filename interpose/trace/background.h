/* Operations that are pending in the background of what else a rank does. */
#ifndef MPISTAIR_TRACE_BACKGROUND_H
#define MPISTAIR_TRACE_BACKGROUND_H

#include "timeline.h"

/* Work space for one rank; grows as needed. Indices are of the rank's operations, from 0. */
struct background {
    uint32_t
        *next; /* pending operations, linked both ways through [capacity]: operation 0 is entry 1, entry 0 the ends */
    uint32_t *previous;
    uint32_t *burst_of; /* [capacity] */
    struct burst *bursts;
    uint32_t *stack; /* bursts with something pending, the youngest last */
    size_t capacity;
};

/* Sets background[i] for operation first + i of the timeline's rank (n of them). 0, or -1 without memory. */
int background_find(struct background *work, const struct timeline *timeline, const struct trace *trace, size_t first,
                    size_t n, bool *background);
void background_release(struct background *work);

/* The list of pending operations. */
void pending_clear(struct background *work);
void pending_add(struct background *work, uint32_t operation);
void pending_remove(struct background *work, uint32_t operation);

#endif

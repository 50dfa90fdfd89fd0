/* Finds, among messages under way that are served evenly, the next to be through.
 *
 * One number tells how far they all are: the bytes that each has got that was there from the beginning. A message has a
 * mark on that scale, where it is through. Marks of messages that began when nothing was under way are in order as they
 * come (arrivals.h); only those that begin later are kept in a heap. */
#ifndef MPISTAIR_PREDICTOR_UNDERWAY_H
#define MPISTAIR_PREDICTOR_UNDERWAY_H

#include "predictor/engine/arrivals.h"
#include "share/base/heap.h"

struct underway {
    size_t next, end; /* arrivals, the first ones to begin */
    double less;      /* their marks are their bytes less this */
    struct heap late; /* id: arrival; the caller gives the room */
};

static inline size_t underway_n(const struct underway *underway)
{
    return underway->end - underway->next + underway->late.n;
}

static inline bool underway_first_is_late(const struct underway *underway, const struct arrivals *arrivals)
{
    if (underway->late.n == 0 || underway->next == underway->end)
        return underway->late.n > 0;
    return underway->late.entries[0].key < arrival_bytes(arrivals, underway->next) - underway->less;
}

/* Returns the next mark. underway_n > 0. */
static inline double underway_mark(const struct underway *underway, const struct arrivals *arrivals)
{
    return underway_first_is_late(underway, arrivals) ? underway->late.entries[0].key
                                                      : arrival_bytes(arrivals, underway->next) - underway->less;
}

/* Takes out the arrival that has come to the next mark. underway_n > 0. */
static inline size_t underway_take(struct underway *underway, const struct arrivals *arrivals)
{
    return underway_first_is_late(underway, arrivals) ? heap_pop(&underway->late).id : underway->next++;
}

#endif

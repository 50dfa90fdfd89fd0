/* Events in the order of their times, the ground of a simulated run. An event is a number of some kind; what it stands
 * for is known to the handler of that kind alone. */
#ifndef MPISTAIR_PREDICTOR_EVENTS_H
#define MPISTAIR_PREDICTOR_EVENTS_H

#include <math.h>

#include "share/base/heap.h"

enum { EVENT_MAX_KINDS = 4 };

struct simulation; /* what handlers work on */
typedef void event_handler(struct simulation *sim, uint32_t number);

struct events {
    double now_s;
    struct heap heap;
    size_t room;
    event_handler *handlers[EVENT_MAX_KINDS];
};

void events_release(struct events *events);
/* Schedules an event, at the present time or later. Of two at the same time either may come first. */
void events_schedule(struct events *events, double at_s, unsigned kind, uint32_t number);
/* Returns the time of the next event, INFINITY without one. */
static inline double events_next_s(const struct events *events)
{
    return events->heap.n > 0 ? events->heap.entries[0].key : (double)INFINITY;
}
/* Takes out the next event and handles it. */
void events_handle_next(struct events *events, struct simulation *sim);

#endif

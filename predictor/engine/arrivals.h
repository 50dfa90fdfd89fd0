/* Gives the messages that queue up at receivers or NICs in the order in which they begin. */
#ifndef MPISTAIR_PREDICTOR_ARRIVALS_H
#define MPISTAIR_PREDICTOR_ARRIVALS_H

#include "predictor/pattern/radix_sort.h"
#include "predictor/pattern/size_order.h"

/* Holds the messages of all queues, and of them the selected ones as numbers 0 .. n - 1. Within a selection they are
 * ordered by begin, queue and size. */
struct arrivals {
    const struct traffic *traffic; /* borrowed */
    struct size_order order;       /* by queue; zero bytes, too */
    bool timed;                    /* post times exist; otherwise all begin at 0 */
    size_t from, n;                /* places in the order of those selected */
    struct radix_run selected; /* key: begin; id: place in the order. Of a capacity, and room to sort. Where there */
    struct radix_run spare;    /* are no times not used: arrivals are as they lie in the order. */
    size_t capacity;
};

/* Orders the messages of those levels by the queue of their end in that direction: queue_of[rank] < n_queues. Takes 12
 * bytes a message of those levels; where there are times, 24 more for each of the largest selection. Returns 0, or -1
 * without memory. */
int arrivals_init(struct arrivals *arrivals, const struct traffic *traffic, unsigned levels, enum direction direction,
                  const uint32_t *queue_of, size_t n_queues);
void arrivals_release(struct arrivals *arrivals);

/* Selects the messages of the queues first .. end - 1. O(n). Returns 0, or -1 without memory. */
int arrivals_select(struct arrivals *arrivals, size_t first_queue, size_t end_queue);

static inline size_t arrival_place(const struct arrivals *arrivals, size_t i)
{
    return arrivals->timed ? arrivals->selected.id[i] : arrivals->from + i;
}

static inline uint32_t arrival_message(const struct arrivals *arrivals, size_t i)
{
    return arrivals->order.message[arrival_place(arrivals, i)];
}

static inline double arrival_bytes(const struct arrivals *arrivals, size_t i)
{
    return (double)arrivals->order.bytes[arrival_place(arrivals, i)];
}

static inline double arrival_begin_s(const struct arrivals *arrivals, size_t i)
{
    return arrivals->timed ? radix_value(arrivals->selected.key[i]) : 0;
}

/* Returns the end of those that begin with the arrival i in its queue, whose places in the order end at end_place. */
static inline size_t arrivals_alike(const struct arrivals *arrivals, size_t i, size_t end_place)
{
    if (!arrivals->timed)
        return end_place - arrivals->from;
    uint64_t begin = arrivals->selected.key[i];
    while (i < arrivals->n && arrivals->selected.key[i] == begin && arrivals->selected.id[i] < end_place)
        i++;
    return i;
}

#endif

/* Moves the messages that are under way at one time, each at the rate that a law gives it (share/doc/MODELS.md, Whole
 * run, Sharing). */
#ifndef MPISTAIR_PREDICTOR_RUN_SHARE_H
#define MPISTAIR_PREDICTOR_RUN_SHARE_H

#include "predictor/run/laws/run_law.h"

/* Prepares for the ranks of the placement. rates and placement must outlive it. */
void run_share_init(struct run_share *share, enum run_law law, const struct run_rates *rates,
                    const struct placement *placement);
void run_share_release(struct run_share *share);

/* Begins to move the `rest` bytes of a message, > 0, of a class with finite rates. Its end comes up when it is through,
 * its room (if room_bytes < rest) when no more than room_bytes are left. */
void run_share_add(struct run_share *share, double now_s, struct run_mover *mover, double rest, double room_bytes);
/* Tells that so many threads of a rank begin (change > 0) or end to compute. share->memory is there. */
void run_share_compute(struct run_share *share, double now_s, uint32_t rank, int change);
/* Takes what a collective of recorded length sends from one rank to another out of the buckets of both NICs. */
void run_share_drain(struct run_share *share, double now_s, uint32_t src, uint32_t dst, double bytes);
/* Returns the bytes that are left of a message. */
double run_share_rest(const struct run_share *share, double now_s, const struct run_mover *mover);
/* Returns what the connection from one rank to another has carried; 0 where the law does not ask. */
double run_share_carried(const struct run_share *share, uint32_t src, uint32_t dst);
/* Ends a message that was through, or stops it: then its marks no longer come up. */
void run_share_remove(struct run_share *share, double now_s, const struct run_mover *mover);

#define RUN_NO_MARK UINT32_MAX

/* Returns the number of the message whose mark it is; the end is the mark where it is through. */
static inline uint32_t run_mark_number(uint32_t mark)
{
    return mark / 2;
}
static inline bool run_mark_is_end(uint32_t mark)
{
    return mark % 2 == 0;
}

/* Returns when the next mark comes up, or a rate changes by itself; INFINITY if nothing moves. */
double run_share_next_s(const struct run_share *share);
/* Takes out the next mark and returns it, or RUN_NO_MARK where a rate has changed. If it was an end, run_share_remove
 * must follow at the same time. */
uint32_t run_share_take(struct run_share *share, double now_s);
/* Must be called before time moves on. Returns true where that has changed what comes next. */
bool run_share_settle(struct run_share *share);

#endif

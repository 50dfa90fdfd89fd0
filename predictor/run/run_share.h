/* Moves the messages that are under way at one time, each at the rate that a law gives it (share/doc/MODELS.md, Whole
 * run, Sharing). */
#ifndef MPISTAIR_PREDICTOR_RUN_SHARE_H
#define MPISTAIR_PREDICTOR_RUN_SHARE_H

#include "predictor/run/run_law.h"

/* Prepares for the ranks of the placement. rates and placement must outlive it. Returns 0, or -1 without memory. */
int run_share_init(struct run_share *share, enum run_law law, const struct run_rates *rates,
                   const struct placement *placement);
void run_share_release(struct run_share *share);

/* Begins to move the `rest` bytes of a message, > 0, of a class with finite rates. end_id comes up when it is
 * through, room_id (if room_bytes < rest) when no more than room_bytes are left. Returns 0, or -1 without memory. */
int run_share_add(struct run_share *share, double now_s, struct run_mover *mover, double rest, uint32_t end_id,
                  double room_bytes, uint32_t room_id);
/* Tells that so many threads of a rank begin (change > 0) or end to compute. share->memory is there. */
void run_share_compute(struct run_share *share, double now_s, uint32_t rank, int change);
/* Returns the bytes that are left of a message. */
double run_share_rest(const struct run_share *share, double now_s, const struct run_mover *mover);
/* Ends a message that was through, or stops it: then its ids (end_id, room_id) no longer come up. */
void run_share_remove(struct run_share *share, double now_s, const struct run_mover *mover, uint32_t end_id,
                      uint32_t room_id);

#define RUN_NO_MARK UINT32_MAX

/* Returns when the next id comes up, or a rate changes by itself; INFINITY if nothing moves. */
double run_share_next_s(const struct run_share *share);
/* Takes out the next id and returns it, or RUN_NO_MARK where a rate has changed. If it was an end_id, run_share_remove
 * must follow at the same time. */
uint32_t run_share_take(struct run_share *share, double now_s);

#endif

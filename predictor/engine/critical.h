/* What a rank waits for last, and how much of that it would need alone: the split of a transfer's time into bandwidth
 * and contention.
 *
 * Bandwidth is the rank's own bytes on the way that it waits for, at the rate that the model gives them alone, BW(1);
 * contention is the rest, what the others' bytes cost. So a pair that is alone has none. Where a table's BW(1) is below
 * the share BW(n)/n that competitors get (T Table I has BW_SP < BW_MP(2)/2), alone would be slower than together: then
 * all of it is bandwidth, and no part is negative. Papers are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_PREDICTOR_CRITICAL_H
#define MPISTAIR_PREDICTOR_CRITICAL_H

#include "predictor/model.h"

/* The latest completion of a rank so far. */
struct critical {
    double at_s;      /* 0: none yet */
    double bytes;     /* what each message of the way had got through by then, INFINITY: all; in flow turns */
    uint32_t message; /* the one completed */
    uint32_t way;     /* where it waited: the model's own numbers */
};

/* A completion at that time may change it. */
static inline bool critical_reaches(const struct critical *critical, double at_s)
{
    return at_s >= critical->at_s * (1 - 1e-8);
}

/* Takes the later of both. Of completions closer than rounding (1e-9) that with more bytes, then the first in the
 * pattern: the choice depends on no order of evaluation. at_s is the larger in any case. */
void critical_take(struct critical *critical, const struct critical *other);

/* Adds a transfer of total_s to the parts of a rank: bandwidth min(alone_s, total_s), contention the rest. */
void prediction_add_transfer(struct prediction *prediction, size_t rank, double alone_s, double total_s);

#endif

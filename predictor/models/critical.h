/* Remembers what a rank waits for last, and how much of that it would need alone: this splits a transfer's time into
 * bandwidth and contention.
 *
 * Bandwidth is the time of the rank's own bytes on the way that it waits for, at the rate that the model gives them
 * alone, BW(1). Contention is the rest, what the others' bytes cost; so a pair that is alone has none. Where a table's
 * BW(1) is below the share BW(n)/n that competitors get (T Table I has BW_SP < BW_MP(2)/2), alone would be slower than
 * together: then all of it is bandwidth, and no part is negative. Papers are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_PREDICTOR_CRITICAL_H
#define MPISTAIR_PREDICTOR_CRITICAL_H

#include "predictor/models/model.h"

/* Holds the latest completion of a rank so far. */
struct critical {
    double at_s;      /* 0: none yet */
    double bytes;     /* what each message of the way had got through by then (flow: in turns), INFINITY: all */
    uint32_t message; /* the message that completed */
    uint32_t way;     /* where it waited: the model's own numbers */
};

/* Says whether a completion at that time may change it. */
static inline bool critical_reaches(const struct critical *critical, double at_s)
{
    return at_s >= critical->at_s * (1 - 1e-8);
}

/* Takes the later of both. Among completions closer than rounding (1e-9) the one with more bytes counts, then the first
 * in the pattern: the choice depends on no order of evaluation. at_s becomes the larger in any case. */
void critical_take(struct critical *critical, const struct critical *other);

/* Adds a transfer of total_s to the parts of a rank: bandwidth min(alone_s, total_s), contention the rest. */
void prediction_add_transfer(struct prediction *prediction, size_t rank, double alone_s, double total_s);

#endif

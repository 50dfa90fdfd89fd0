/* Counts on a clock the bytes that each of the ranks with the same bandwidth has got. What the clock will read when
 * something is through does not change while others come and go; only the time of that does. */
#ifndef MPISTAIR_PREDICTOR_SHARE_CLOCK_H
#define MPISTAIR_PREDICTOR_SHARE_CLOCK_H

#include <stdbool.h>

#include "share/base/heap.h"

/* Says that from there on a clock went at one rate. */
struct clock_segment {
    double served, since_s, bytes_per_s;
};

struct share_clock {
    double served; /* bytes that each of its ranks has got, at since_s */
    double since_s;
    struct heap ranks;              /* those that it serves, by what `served` will be when they are idle */
    struct clock_segment *segments; /* the last one is now; the caller gives the room */
    size_t n_segments, max_segments;
};

/* Goes on to now_s; to 0 where it serves nobody, without segments. */
void share_clock_advance(struct share_clock *clock, double now_s);
/* Sets another rate from now on. n_segments < max_segments. */
void share_clock_set_rate(struct share_clock *clock, double bytes_per_s);
/* Returns when it stood at a point, or will at this rate. *segment is one that began no later, and becomes that of the
 * point. */
double share_clock_time_s(const struct share_clock *clock, uint32_t *segment, double served);
/* Returns when the next of its ranks is idle. The clock must have one. */
double share_clock_idle_s(const struct share_clock *clock);

#endif

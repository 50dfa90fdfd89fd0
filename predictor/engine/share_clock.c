/* The rate of a clock changes with every rank that comes or goes; segments remember the rates, so that a point that was
 * passed can be timed afterwards. See share_clock.h. */
#include "predictor/engine/share_clock.h"

#include <math.h>

void share_clock_advance(struct share_clock *clock, double now_s)
{
    if (clock->ranks.n == 0) {
        clock->served = 0;
        clock->n_segments = 0;
    } else if (now_s > clock->since_s)
        clock->served += (now_s - clock->since_s) * clock->segments[clock->n_segments - 1].bytes_per_s;
    clock->since_s = now_s;
}

void share_clock_set_rate(struct share_clock *clock, double bytes_per_s)
{
    clock->segments[clock->n_segments++] = (struct clock_segment){clock->served, clock->since_s, bytes_per_s};
}

/* Searches by steps that double, then halve. Where a segment begins at the point, the one before it counts: what comes
 * there together comes at the same time, whichever of it ended the segment. */
double share_clock_time_s(const struct share_clock *clock, uint32_t *segment, double served)
{
    const struct clock_segment *segments = clock->segments;
    size_t i = *segment, step = 1;
    for (; i + step < clock->n_segments && segments[i + step].served < served; step *= 2)
        i += step;
    for (; step > 0; step /= 2)
        if (i + step < clock->n_segments && segments[i + step].served < served)
            i += step;
    *segment = (uint32_t)i;
    return segments[i].since_s + fmax(served - segments[i].served, 0) / segments[i].bytes_per_s;
}

double share_clock_idle_s(const struct share_clock *clock)
{
    double bytes = fmax(clock->ranks.entries[0].key - clock->served, 0);
    return clock->since_s + bytes / clock->segments[clock->n_segments - 1].bytes_per_s;
}

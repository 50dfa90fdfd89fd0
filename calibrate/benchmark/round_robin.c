/* A sample of a stream lasts up to seconds on a slow wire, so a series has one of them, and the time is looked at
 * before each. */
#include "calibrate/benchmark/round_robin.h"

#include <stdio.h>

#include "calibrate/measure/shared_clock.h"
#include "calibrate/samples/probing.h"

/* Measures an item once; returns whether the sample counts. */
static bool sample_item(struct measure *measure, const struct benchmark_program *program, const struct item *item)
{
    double seconds;
    measure_samples(measure, program, item, 1, 1, &seconds);
    measure->late += seconds < 0;
    if (!(seconds > 0))
        return false;
    measure_write(measure, program, item, 1, seconds);
    fflush(stdout);
    return !probing_disturbs(PROBING_QUIET, measure->waited);
}

void round_robin_measure(struct measure *measure, const struct benchmark_program *program, const struct item *items,
                         size_t n_items, size_t *taken, size_t n)
{
    double end_s = measure->begin_s + measure->seconds, now_s = clock_now_s();
    for (bool is_open = true; is_open;) {
        is_open = false;
        for (size_t i = 0; i < n_items; i++) {
            double begin_s = now_s;
            if (taken[i] >= n)
                continue;
            taken[i] += sample_item(measure, program, &items[i]);
            is_open = is_open || taken[i] < n;
            now_s = clock_now_s();
            if (now_s + (now_s - begin_s) > end_s)
                return;
        }
    }
}

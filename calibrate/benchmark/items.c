/* What several benchmarks list, and how those with long samples are led: a sample of a stream lasts up to seconds on a
 * slow wire, so a series has one of them, and the time is looked at before each. */
#include <stdio.h>

#include "calibrate/benchmark/benchmarks.h"
#include "calibrate/samples/probing.h"

void one_pair_list(const struct measure *measure, struct item_list *list, enum level nearest, enum level farthest,
                   const struct one_pair_plan *plan)
{
    for (enum level level = nearest; level <= farthest; level++) {
        struct pair pair;
        if (levels_pairs(&measure->placement, level, 1, &pair) == 0)
            continue;
        for (size_t i = 0; i < plan->n_sizes; i++)
            for (int mode = 0; mode < plan->n_modes; mode++)
                item_add(list, (struct item){.level = level,
                                             .mode = mode,
                                             .variant = plan->variants[mode],
                                             .bytes = plan->sizes[i],
                                             .repeats = plan->repeats,
                                             .pair = pair});
    }
}

/* Measures an item once; returns whether the sample counts. */
static bool sample_item(struct measure *measure, const struct item *item)
{
    double seconds = measure_once(measure, item);
    measure->late += seconds < 0;
    if (!(seconds > 0))
        return false;
    measure_write(measure, item, 1, seconds);
    fflush(stdout);
    return !probing_disturbs(PROBING_QUIET, measure->waited);
}

void round_robin_measure(struct measure *measure, const struct item *items, size_t n_items, size_t *taken, size_t n)
{
    double end_s = measure->begin_s + measure->seconds, now_s = clock_now_s();
    for (bool is_open = true; is_open;) {
        is_open = false;
        for (size_t i = 0; i < n_items; i++) {
            double begin_s = now_s;
            if (taken[i] >= n)
                continue;
            taken[i] += sample_item(measure, &items[i]);
            is_open = is_open || taken[i] < n;
            now_s = clock_now_s();
            if (now_s + (now_s - begin_s) > end_s)
                return;
        }
    }
}

/* A bundle keeps how far it was at some reading of its clock, and is brought up to date only when its speed changes.
 * See run_clock.h. */
#include "predictor/run/laws/run_clock.h"

#include <math.h>

double run_clock_at(const struct run_group *group, double now_s)
{
    return now_s > group->since_s ? group->clock + (now_s - group->since_s) * group->rate : group->clock;
}

void run_clock_advance(struct run_group *group, double now_s)
{
    group->clock = group->bundles.n > 0 ? run_clock_at(group, now_s) : 0;
    group->since_s = now_s;
}

void run_bundle_catch_up(const struct run_group *group, struct run_bundle *bundle)
{
    if (bundle->n > 0 && group->clock > bundle->at)
        bundle->through += (group->clock - bundle->at) * bundle->speed;
    bundle->at = group->clock;
}

void run_moving_mark(struct run_share *share, uint32_t number)
{
    struct run_moving *moving = &share->moving[number];
    struct run_bundle *bundle = &share->bundles[moving->bundle];
    moving->end = bundle->through + moving->rest / moving->weight;
    heap_push(&bundle->marks, moving->end, 2 * number);
    moving->n_marks = 1;
    if (moving->room_bytes < moving->rest) {
        heap_push(&bundle->marks, moving->end - moving->room_bytes / moving->weight, 2 * number + 1);
        moving->n_marks = 2;
    }
}

void run_moving_unmark(struct run_share *share, uint32_t number)
{
    struct run_moving *moving = &share->moving[number];
    struct heap *marks = &share->bundles[moving->bundle].marks;
    for (size_t i = 0; moving->n_marks > 0; i++)
        if (marks->entries[i].id / 2 == number) {
            heap_remove_at(marks, i);
            moving->n_marks--;
            i = SIZE_MAX; /* another entry may have come before this place */
        }
}

double run_moving_rest(const struct run_share *share, uint32_t number, double now_s)
{
    const struct run_moving *moving = &share->moving[number];
    const struct run_bundle *bundle = &share->bundles[moving->bundle];
    double clock = run_clock_at(&share->groups[bundle->group], now_s);
    return fmax(moving->end - bundle->through - fmax(clock - bundle->at, 0) * bundle->speed, 0) * moving->weight;
}

void run_bundle_set_speed(struct run_share *share, uint32_t number, double speed)
{
    struct run_bundle *bundle = &share->bundles[number];
    run_bundle_catch_up(&share->groups[bundle->group], bundle);
    bundle->law_speed = speed;
    bundle->speed = speed * bundle->keeps;
}

size_t run_bundle_class(const struct run_bundle *bundle)
{
    size_t class = 0;
    while (class + 1 < RUN_MAX_CLASSES && bundle->of_class[class] == 0)
        class ++;
    return class;
}

double run_bundle_key(const struct run_bundle *bundle)
{
    if (bundle->marks.n == 0)
        return INFINITY;
    return bundle->at + fmax(bundle->marks.entries[0].key - bundle->through, 0) / bundle->speed;
}

void run_bundle_place(struct run_share *share, uint32_t number)
{
    struct run_bundle *bundle = &share->bundles[number];
    struct run_group *group = &share->groups[bundle->group];
    heap_set(&group->bundles, run_bundle_key(bundle), number, bundle->n > 0);
    if (bundle->n == 0)
        bundle->through = 0;
}

void run_group_order(struct run_share *share, struct run_group *group)
{
    size_t n = group->bundles.n;
    group->bundles.n = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t number = group->bundles.entries[i].id;
        heap_push(&group->bundles, run_bundle_key(&share->bundles[number]), number);
    }
}

void run_group_place(struct run_share *share, uint32_t number)
{
    struct run_group *group = &share->groups[number];
    double at_s = 0;
    if (group->bundles.n > 0)
        at_s = group->since_s + fmax(group->bundles.entries[0].key - group->clock, 0) / group->rate;
    heap_set(&share->next, at_s, number, group->bundles.n > 0);
}

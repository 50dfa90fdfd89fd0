/* A group's cohort is settled when time moves on. Times that are equal but for rounding are one moment, for which it
 * may be settled again. See run_law.h. */
#include "predictor/run/laws/run_law.h"

#include <math.h>

#include "share/base/array.h"

/* Moments closer than this part of their time are one. */
static const double SAME_MOMENT = 1e-12;

static bool is_now(const struct run_cohort *cohort, double now_s)
{
    return cohort->n > 0 && now_s - cohort->since_s <= SAME_MOMENT * fabs(now_s);
}

static void unsettle(struct run_share *share, uint32_t group)
{
    struct run_cohort *cohort = &share->cohorts[group];
    if (!cohort->unsettled)
        share->unsettled[share->n_unsettled++] = group;
    cohort->unsettled = true;
}

void run_cohort_join(struct run_share *share, uint32_t number, double now_s)
{
    uint32_t group = share->bundles[share->moving[number].bundle].group;
    struct run_cohort *cohort = &share->cohorts[group];
    if (!is_now(cohort, now_s)) {
        for (size_t i = 0; i < cohort->n; i++)
            share->moving[cohort->members[i]].place = RUN_NO_MOVING;
        cohort->n = 0;
        cohort->since_s = now_s;
    }
    array_reserve(&cohort->members, &cohort->room, cohort->n + 1, sizeof *cohort->members);
    share->moving[number].place = (uint32_t)cohort->n;
    cohort->members[cohort->n++] = number;
    unsettle(share, group);
}

void run_cohort_leave(struct run_share *share, uint32_t number, double now_s)
{
    uint32_t group = share->bundles[share->moving[number].bundle].group, place = share->moving[number].place;
    struct run_cohort *cohort = &share->cohorts[group];
    if (is_now(cohort, now_s))
        unsettle(share, group);
    if (place == RUN_NO_MOVING)
        return;
    cohort->members[place] = cohort->members[--cohort->n];
    share->moving[cohort->members[place]].place = place;
    share->moving[number].place = RUN_NO_MOVING;
}

/* Gives a message the rate of one that began while n bundles had messages. */
static void set_begun_rate(struct run_share *share, uint32_t number, size_t n)
{
    struct run_moving *moving = &share->moving[number];
    struct run_bundle *bundle = &share->bundles[moving->bundle];
    double weight = run_law_path(share, moving->class)->begun_rate(&share->rates->classes[moving->class], n);
    if (weight <= moving->weight && weight >= moving->weight)
        return;
    run_bundle_catch_up(&share->groups[bundle->group], bundle);
    moving->rest = run_moving_rest(share, number, share->groups[bundle->group].since_s);
    moving->weight = weight;
    run_moving_unmark(share, number);
    run_moving_mark(share, number);
    run_bundle_place(share, moving->bundle);
}

void run_cohort_settle(struct run_share *share)
{
    while (share->n_unsettled > 0) {
        uint32_t group = share->unsettled[--share->n_unsettled];
        struct run_cohort *cohort = &share->cohorts[group];
        cohort->unsettled = false;
        for (size_t i = 0; i < cohort->n; i++)
            set_begun_rate(share, cohort->members[i], share->groups[group].bundles.n);
        run_group_place(share, group);
    }
}

/* Time is short and machines are uneven: the order is random, every point gets its minimum, and what is left goes
 * where the median is least known. The schedule also drops what a probe shows to be disturbed, so that it is measured
 * again. */
#include "calibrate/measure/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "share/base/array.h"
#include "calibrate/measure/plan.h"
#include "calibrate/samples/probing.h"
#include "share/base/memory.h"
#include "share/base/random.h"

/* Samples of a series: they lie between two polls of idle ranks (plan_gap_s), and share the time that it takes to reach
 * the ranks. A series has one, where three take long, as another item may come in between; and where time is so short
 * that the others might get none. */
enum { SAMPLES_A_SERIES = 3 };
#define SERIES_S 0.05

#define SCHEDULE_WARM_SHARE 0.2
enum { WARM_SAMPLES_MAX = 4, WARM_SAMPLES_SHORT = 1 };

#define PROGRESS_S 0.5

/* Stages, in order: samples without which an item is of no use, the minimum of all; then, shares of time being equal,
 * those that are not known well enough and had no more of it than the mean. */
enum stage { FIRST, MINIMUM, PRECISION };
/* Share of the time that FIRST may use, at most, so that a noisy machine still reaches the later stages. */
#define FIRST_SHARE 0.4

struct schedule {
    struct measure *measure;
    struct item_list list;
    struct item *items;   /* [n_points] of the list */
    struct point *points; /* [n_points], of the items */
    size_t *order;        /* numbers of points, shuffled */
    size_t n_points;
    double end_s;
    double stage_end_s; /* when the passes of a stage end */
    bool is_short;      /* there is not even time for PLAN_SAMPLES_SHORT of each point */
    double told_s;      /* when progress was last reported */
    uint64_t random;
    size_t rows;
    size_t disturbed;      /* rows that do not count */
    struct taken *pending; /* [n_pending] samples that count unless the next probe says that the epoch was disturbed */
    size_t n_pending;
};

struct taken {
    struct point *point;
    double seconds;
    double waited; /* NaN: not known of the series itself */
};

static const struct item *item_of(const struct schedule *schedule, const struct point *point)
{
    return &schedule->items[point - schedule->points];
}

static void tell_progress(struct schedule *schedule, bool ends)
{
    double now_s = clock_now_s(), needed = 0;
    size_t done = 0;
    if (!ends && now_s - schedule->told_s < PROGRESS_S)
        return;
    for (size_t i = 0; i < schedule->n_points; i++) {
        done += point_is_done(&schedule->points[i]);
        needed += point_needed_s(&schedule->points[i]);
    }
    double left_s = ends ? 0 : fmax(fmin(needed, schedule->end_s - now_s), 0);
    fprintf(stderr, MEASURE_NOTE "progress %s %zu %zu %.1f\n", schedule->measure->program->name, done,
            schedule->n_points, left_s);
    schedule->told_s = now_s;
}

/* Counts a sample, for the time being. */
static void schedule_take(struct schedule *schedule, struct point *point, double seconds)
{
    ARRAY_ADD(schedule->pending, schedule->n_pending, (struct taken){point, seconds, schedule->measure->waited});
    point_add(point, seconds);
}

/* Probes the machine. What was taken in a disturbed epoch does not count, so that it is measured again as long as
 * there is time. */
static void end_epoch(struct schedule *schedule)
{
    enum probing_verdict verdict = probe_take(schedule->measure);
    for (size_t i = 0; i < schedule->n_pending; i++) {
        const struct taken *taken = &schedule->pending[i];
        if (!probing_disturbs(verdict, taken->waited))
            continue;
        point_remove(taken->point, taken->seconds);
        schedule->disturbed++;
    }
    schedule->n_pending = 0;
}

/* Takes untimed samples, until a sample is long enough to measure a repetition. */
static void schedule_warm_up(struct schedule *schedule, struct point *point, int max_series)
{
    struct measure *measure = schedule->measure;
    const struct item *item = item_of(schedule, point);
    double begin_s = clock_now_s(), around_s = 0, seconds;
    int repeats = 1;
    for (int i = 0; i < max_series; i++) {
        double series_s = clock_now_s();
        measure->expected_s = 0;
        measure_samples(measure, item, repeats, 1, &seconds);
        around_s = clock_now_s() - series_s - measure->longest_s;
        double repetition_s = fmax(measure->longest_s, 1e-9) / repeats;
        point->repeats = plan_repeats(repetition_s, item->batch, item->repeats);
        point->sample_s = point->repeats * repetition_s;
        if (measure->longest_s > PLAN_SAMPLE_S / 2 || point->repeats <= repeats)
            break;
        repeats = point->repeats;
    }
    point->cost_s = plan_gap_s(point->sample_s, MEASURE_IDLE_S) + around_s / SAMPLES_A_SERIES;
    point->spent_s += clock_now_s() - begin_s;
    tell_progress(schedule, false);
}

/* Takes more repetitions where a sample was short or less than a batch: something held up the sample that told how
 * many. */
static void lengthen(const struct item *item, struct point *point, double shortest_s)
{
    if (shortest_s >= PLAN_SAMPLE_S / 2 && point->repeats >= item->batch)
        return;
    double repetition_s = fmax(shortest_s, 1e-9) / point->repeats;
    int planned = plan_repeats(repetition_s, item->batch, item->repeats);
    if (planned <= point->repeats)
        return;
    point->repeats = planned;
    point->sample_s = planned * repetition_s;
}

/* Takes the longest sample of a series for what to expect of the next: a sample that starts before the end of another
 * is lost. Where less than half was needed, the expectation came from a disturbed sample. */
static void expect(struct point *point, double longest_s)
{
    double weight = longest_s > point->sample_s ? 0.5 : longest_s < point->sample_s / 2 ? 0.9 : 0.2;
    point->sample_s += weight * (longest_s - point->sample_s);
}

static void sample_point(struct schedule *schedule, struct point *point)
{
    if (probe_is_due(schedule->measure))
        end_epoch(schedule);
    struct measure *measure = schedule->measure;
    const struct item *item = item_of(schedule, point);
    double seconds[SAMPLES_A_SERIES], begin_s = clock_now_s();
    bool single = SAMPLES_A_SERIES * point->sample_s > SERIES_S || (schedule->is_short && point->n == 0);
    size_t shared = measure->shared;
    int n = single ? 1 : SAMPLES_A_SERIES, taken = 0;
    measure->gap_s = plan_gap_s(point->sample_s, MEASURE_IDLE_S);
    measure->expected_s = point->sample_s;
    measure_samples(measure, item, point->repeats, n, seconds);
    for (int i = 0; i < n; i++) {
        if (!(seconds[i] > 0))
            continue;
        if (probing_disturbs(PROBING_QUIET, measure->waited))
            schedule->disturbed++;
        else
            schedule_take(schedule, point, seconds[i]);
        measure_write(measure, item, point->repeats, seconds[i]);
        taken++;
    }
    fflush(stdout);
    double cost_s = (clock_now_s() - begin_s) / n;
    expect(point, measure->longest_s);
    lengthen(item, point, measure->shortest_s);
    point->cost_s = point->n > (size_t)taken ? 0.7 * point->cost_s + 0.3 * cost_s : cost_s;
    point->spent_s += clock_now_s() - begin_s;
    schedule->rows += (size_t)taken;
    measure->late += (size_t)(n - taken) - (measure->shared - shared);
    tell_progress(schedule, false);
}

/* Returns whether there is time for another series; a first one is begun in any case. */
static bool affordable(const struct schedule *schedule, const struct point *point)
{
    double left_s = schedule->stage_end_s - clock_now_s();
    return left_s > 0 && (point->n == 0 || point->cost_s <= left_s);
}

static void set_minimum(struct schedule *schedule)
{
    size_t n = schedule->n_points, *minimum = xcalloc(n, sizeof *minimum);
    double *cost_s = xcalloc(n, sizeof *cost_s), known_s = 0;
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if (schedule->points[i].cost_s > 0) {
            known_s += schedule->points[i].cost_s;
            known++;
        }
    double short_s = 0;
    for (size_t i = 0; i < n; i++) {
        cost_s[i] = schedule->points[i].cost_s > 0 ? schedule->points[i].cost_s
                    : known > 0                    ? known_s / (double)known
                                                   : MEASURE_IDLE_S;
        short_s += PLAN_SAMPLES_SHORT * cost_s[i];
        cost_s[i] /= schedule->items[i].weight; /* it gets its own part of equal shares of the time */
    }
    schedule->is_short = short_s > schedule->end_s - clock_now_s();
    plan_minimum(cost_s, n, schedule->end_s - clock_now_s(), minimum);
    for (size_t i = 0; i < n; i++)
        schedule->points[i].minimum = minimum[i];
    free(minimum);
    free(cost_s);
}

/* Returns the time spent on a point, divided by its weight. */
static double weighted_spent_s(const struct schedule *schedule, size_t i)
{
    return schedule->points[i].spent_s / schedule->items[i].weight;
}

/* Returns the mean of that over the points that are not done. */
static double mean_spent_s(const struct schedule *schedule)
{
    double spent_s = 0;
    size_t open = 0;
    for (size_t i = 0; i < schedule->n_points; i++)
        if (!point_is_done(&schedule->points[i])) {
            spent_s += weighted_spent_s(schedule, i);
            open++;
        }
    return open > 0 ? spent_s / (double)open : 0;
}

/* Returns whether a stage wants more samples of a point, mean_s being what mean_spent_s returns. */
static bool is_wanted(const struct schedule *schedule, size_t i, enum stage stage, double mean_s)
{
    const struct point *point = &schedule->points[i];
    const struct benchmark_program *program = schedule->measure->program;
    if (stage == FIRST)
        return program->n_parts > 0 && point->n < program->parts[schedule->items[i].part].first_samples;
    if (stage == MINIMUM)
        return point->n < point->minimum;
    return !point_is_done(point) && weighted_spent_s(schedule, i) <= mean_s * (1 + 1e-9);
}

/* Makes one pass in random order over the points that the stage wants. Returns the number of series. */
static int pass(struct schedule *schedule, enum stage stage)
{
    double mean_s = stage == PRECISION ? mean_spent_s(schedule) : 0;
    int n_series = 0;
    random_order(&schedule->random, schedule->order, schedule->n_points);
    for (size_t i = 0; i < schedule->n_points; i++) {
        struct point *point = &schedule->points[schedule->order[i]];
        if (!is_wanted(schedule, schedule->order[i], stage, mean_s) || !affordable(schedule, point))
            continue;
        if (point->repeats == 0)
            schedule_warm_up(schedule, point, WARM_SAMPLES_SHORT);
        sample_point(schedule, point);
        n_series++;
    }
    return n_series;
}

static void schedule_run(struct schedule *schedule)
{
    double warm_s = clock_now_s() + SCHEDULE_WARM_SHARE * fmax(schedule->end_s - clock_now_s(), 0);
    random_order(&schedule->random, schedule->order, schedule->n_points);
    for (size_t i = 0; i < schedule->n_points && clock_now_s() < warm_s; i++)
        if (!point_is_done(&schedule->points[schedule->order[i]]))
            schedule_warm_up(schedule, &schedule->points[schedule->order[i]], WARM_SAMPLES_MAX);
    set_minimum(schedule);
    for (enum stage stage = FIRST; stage <= PRECISION; stage++) {
        double now_s = clock_now_s(), share = stage == FIRST ? FIRST_SHARE : 1;
        schedule->stage_end_s = now_s + share * (schedule->end_s - now_s);
        while (pass(schedule, stage) > 0)
            ;
    }
}

static void tell_result(struct schedule *schedule)
{
    const char *name = schedule->measure->program->name;
    size_t few = 0, done = 0;
    for (size_t i = 0; i < schedule->n_points; i++) {
        few += schedule->points[i].n < PLAN_SAMPLES_SHORT;
        done += point_is_done(&schedule->points[i]);
    }
    tell_progress(schedule, true);
    fprintf(stderr, MEASURE_NOTE "precision %s: %zu of %zu medians within %g %%\n", name, done, schedule->n_points,
            100 * PLAN_PRECISION);
    if (few > 0)
        fprintf(stderr,
                MEASURE_NOTE "incomplete %s: %zu of %zu measurements have fewer than %d samples after %g s; "
                             "increase --seconds\n",
                name, few, schedule->n_points, PLAN_SAMPLES_SHORT, schedule->measure->seconds);
    if (schedule->measure->late > 0)
        fprintf(stderr, MEASURE_NOTE "late %s: %zu of %zu samples dropped, a rank could not start in time\n", name,
                schedule->measure->late, schedule->rows + schedule->measure->late);
    if (schedule->disturbed > 0)
        fprintf(stderr, MEASURE_NOTE "disturbed %s: %zu of %zu samples, while others had the processors\n", name,
                schedule->disturbed, schedule->rows);
    if (schedule->measure->shared > 0)
        fprintf(stderr, MEASURE_NOTE "shared %s: %zu samples dropped, ranks were on one processor with another free\n",
                name, schedule->measure->shared);
}

/* Takes the samples of an earlier run. */
static void schedule_resume(struct schedule *schedule)
{
    const struct measure *measure = schedule->measure;
    size_t n_rows = measure->resume.n_rows, taken = 0;
    double *seconds = xcalloc(n_rows, sizeof *seconds);
    for (size_t i = 0; i < schedule->n_points; i++) {
        size_t n = measure_resumed(measure, &schedule->items[i], seconds, n_rows);
        for (size_t j = 0; j < n; j++)
            point_add(&schedule->points[i], seconds[j]);
        taken += n;
    }
    free(seconds);
    if (taken < n_rows)
        fprintf(stderr, MEASURE_NOTE "resume %s: %zu of %zu earlier samples fit no measurement of this job\n",
                schedule->measure->program->name, n_rows - taken, n_rows);
}

/* Appends the items of a part. */
static void append_part(struct schedule *schedule, int part)
{
    size_t before = schedule->list.n;
    benchmark_of(schedule->measure, part)->list(schedule->measure, &schedule->list);
    double weight = schedule->measure->program->n_parts > 0 ? schedule->measure->program->parts[part].weight : 1;
    for (size_t i = before; i < schedule->list.n; i++) {
        schedule->list.items[i].part = part;
        schedule->list.items[i].weight = weight / (double)(schedule->list.n - before);
    }
}

/* Lists all items, their weights 1 on average. */
static void schedule_list(struct schedule *schedule)
{
    int n_parts = schedule->measure->program->n_parts > 0 ? schedule->measure->program->n_parts : 1;
    double sum = 0;
    for (int part = 0; part < n_parts; part++)
        append_part(schedule, part);
    schedule->items = schedule->list.items;
    schedule->n_points = schedule->list.n;
    for (size_t i = 0; i < schedule->n_points; i++)
        sum += schedule->items[i].weight;
    for (size_t i = 0; i < schedule->n_points; i++)
        schedule->items[i].weight *= (double)schedule->n_points / sum;
}

void schedule_lead(struct measure *measure)
{
    struct schedule schedule = {.measure = measure,
                                .end_s = measure->begin_s + measure->seconds,
                                .told_s = clock_now_s(),
                                .random = measure->seed};
    measure->drop_shared = true;
    schedule_list(&schedule);
    schedule.points = xcalloc(schedule.n_points, sizeof *schedule.points);
    schedule.order = xcalloc(schedule.n_points, sizeof *schedule.order);
    schedule_resume(&schedule);
    if (schedule.n_points > 0)
        schedule_run(&schedule);
    if (schedule.n_pending > 0)
        end_epoch(&schedule);
    if (schedule.n_points > 0)
        tell_result(&schedule);
    for (size_t i = 0; i < schedule.n_points; i++)
        point_release(&schedule.points[i]);
    free(schedule.points);
    free(schedule.order);
    free(schedule.items);
    free(schedule.pending);
}

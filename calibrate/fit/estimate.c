/* Lines through few points are uncertain, but they are not independent: what neighbouring lines show enters each fit as
 * a hint, in a fixed order of passes. */
#include "calibrate/fit/estimate.h"

#include <math.h>
#include <stdlib.h>

#include "calibrate/fit/bootstrap.h"
#include "share/base/memory.h"

#define ESTIMATE_SEED 20230725ul /* any; the same samples give the same table */

/* A curve of the level within one protocol. */
struct n_line {
    const struct curve *curve;
    size_t first, end; /* points */
    bool fits;
    struct line line;
    struct line_hint hint;
    size_t samples;
};

struct level_fit {
    const struct fit_thresholds *thresholds;
    const struct fit_options *options;
    size_t n_curves;
    struct n_line *lines; /* [thresholds->n][n_curves] */
};

static struct n_line *lines_of(const struct level_fit *level, int part)
{
    return &level->lines[(size_t)part * level->n_curves];
}

static int estimate_fit_line(struct n_line *line, enum line_method method, const struct line_hint *hint)
{
    return line_fit(&line->curve->bytes[line->first], &line->curve->seconds[line->first], line->end - line->first,
                    method, hint, &line->line);
}

static void level_init(struct level_fit *level, const struct curves *curves, enum level name)
{
    size_t n_parts = (size_t)level->thresholds->n;
    level->lines = xcalloc(n_parts * curves->n_curves, sizeof *level->lines);
    for (size_t i = 0; i < curves->n_curves; i++)
        level->n_curves += curves->curves[i].level == name;
    for (size_t i = 0, index = 0; i < curves->n_curves; i++) {
        const struct curve *curve = &curves->curves[i];
        for (size_t part = 0; part < n_parts && curve->level == name; part++) {
            struct n_line *line = &lines_of(level, (int)part)[index];
            line->curve = curve;
            curve_range(curve, level->thresholds->bytes[part],
                        part + 1 < n_parts ? level->thresholds->bytes[part + 1] : INFINITY, &line->first, &line->end);
            for (size_t point = line->first; point < line->end; point++)
                line->samples += curve->n_samples[point];
            line->fits = estimate_fit_line(line, level->options->method, NULL) == 0;
        }
        index += curve->level == name;
    }
}

static void say_left_out(const struct level_fit *level, enum level name, FILE *notes)
{
    for (int part = 0; part < level->thresholds->n; part++)
        for (size_t i = 0; i < level->n_curves && notes != NULL; i++) {
            const struct n_line *line = &lines_of(level, part)[i];
            if (!line->fits)
                fprintf(notes, "%s %s: n = %llu left out: %s\n", level_name[name],
                        machine_protocol_name[level->thresholds->protocol[part]], (unsigned long long)line->curve->n,
                        line->end - line->first < 2 ? "fewer than two sizes measured" : "its times allow no line");
        }
}

static bool below_rendezvous(const struct level_fit *level, int part)
{
    enum machine_protocol protocol =
        part < level->thresholds->n ? level->thresholds->protocol[part] : PROTOCOL_RENDEZVOUS;
    return protocol == PROTOCOL_SHORT || protocol == PROTOCOL_EAGER;
}

/* Lets every line of a curve know how the points of the whole curve scatter. */
static void share_scatter(const struct level_fit *level, size_t curve)
{
    double sum_of_squares = 0;
    size_t degrees = 0;
    for (int part = 0; part < level->thresholds->n; part++) {
        const struct n_line *line = &lines_of(level, part)[curve];
        sum_of_squares += line->fits ? line->line.sum_of_squares : 0;
        degrees += line->fits ? line->line.degrees : 0;
    }
    for (int part = 0; part < level->thresholds->n; part++) {
        struct n_line *line = &lines_of(level, part)[curve];
        line->hint.degrees = degrees;
        line->hint.variance = degrees > 0 ? sum_of_squares / (double)degrees : 0;
        if (line->fits)
            (void)estimate_fit_line(line, LINE_RELATIVE, &line->hint);
    }
}

/* Accepts a line that takes part in sharing slopes: it has the same sizes as the first one. */
static bool comparable(const struct n_line *line, const struct n_line *first)
{
    return line->fits && line->line.slope_error > 0 &&
           (first == NULL || (line->end - line->first == first->end - first->first &&
                              line->curve->bytes[line->first] <= first->curve->bytes[first->first] &&
                              line->curve->bytes[line->first] >= first->curve->bytes[first->first]));
}

/* Adds to the hint the slope to be expected, and how much of it is to be taken, next to what is there already. */
static void add_hint(struct line_hint *hint, double slope, double share)
{
    double before = hint->slope_share * (1 - share), both = before + share;
    if (both > 0)
        hint->slope = (before * hint->slope + share * slope) / both;
    hint->slope_share = both;
}

/* Shares slopes over times: they are alike for all N of a protocol where N processes are slower by a factor, at every
 * size. */
static void share_among_curves(const struct level_fit *level, int part, struct pool_value *values, double *expected)
{
    struct n_line *lines = lines_of(level, part), *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < level->n_curves; i++)
        if (comparable(&lines[i], first)) {
            first = first == NULL ? &lines[i] : first;
            values[n++] = (struct pool_value){lines[i].line.free_slope / lines[i].line.mean_y,
                                              lines[i].line.slope_error / lines[i].line.mean_y};
        }
    double mean = n > 0 ? pool_mean(values, n) : 0;
    for (size_t i = 0; i < n; i++)
        expected[i] = mean;
    double share = mean > 0 ? pool_share(values, expected, n, n - 1) : 0;
    for (size_t i = 0; i < level->n_curves; i++)
        if (comparable(&lines[i], first))
            add_hint(&lines[i].hint, mean * lines[i].line.mean_y, share);
}

/* Shares slopes with the next protocol, if the points do not say otherwise. */
static void share_with_next(const struct level_fit *level, int part, struct pool_value *values, double *expected)
{
    struct n_line *lines = lines_of(level, part);
    const struct n_line *next = lines_of(level, part + 1);
    size_t n = 0;
    for (size_t i = 0; i < level->n_curves; i++)
        if (comparable(&lines[i], NULL) && next[i].fits && next[i].line.kind != LINE_FLAT) {
            expected[n] = next[i].line.slope.value;
            values[n++] = (struct pool_value){lines[i].line.free_slope, lines[i].line.slope_error};
        }
    double share = pool_share(values, expected, n, n);
    for (size_t i = 0; i < level->n_curves; i++)
        if (comparable(&lines[i], NULL) && next[i].fits && next[i].line.kind != LINE_FLAT)
            add_hint(&lines[i].hint, next[i].line.slope.value, share);
}

static void set_floors(const struct level_fit *level, size_t curve)
{
    struct line_value floor = {0, 0, 0};
    for (int part = 0; part < level->thresholds->n; part++) {
        struct n_line *line = &lines_of(level, part)[curve];
        line->hint.floor = floor;
        if (line->fits && line->line.intercept.value < floor.value)
            (void)estimate_fit_line(line, LINE_RELATIVE, &line->hint);
        if (line->fits && line->line.intercept.value >= floor.value)
            floor = line->line.intercept;
    }
}

/* Fits all lines again with what they know of each other: the scatter, then the slopes from the larger messages to the
 * smaller ones, then, upwards, the floors. */
static void refine(const struct level_fit *level)
{
    struct pool_value *values = xcalloc(level->n_curves, sizeof *values);
    double *expected = xcalloc(level->n_curves, sizeof *expected);
    for (size_t i = 0; i < level->n_curves; i++)
        share_scatter(level, i);
    for (int part = level->thresholds->n - 1; part >= 0; part--) {
        if (!below_rendezvous(level, part))
            continue;
        share_among_curves(level, part, values, expected);
        if (below_rendezvous(level, part + 1))
            share_with_next(level, part, values, expected);
        for (size_t i = 0; i < level->n_curves; i++)
            if (lines_of(level, part)[i].fits)
                (void)estimate_fit_line(&lines_of(level, part)[i], LINE_RELATIVE, &lines_of(level, part)[i].hint);
    }
    for (size_t i = 0; i < level->n_curves; i++)
        set_floors(level, i);
    free(values);
    free(expected);
}

static bool large_messages(enum machine_protocol protocol)
{
    return protocol == PROTOCOL_RENDEZVOUS || protocol == PROTOCOL_ANY;
}

static const struct n_line *line_find(const struct level_fit *level, int part, uint64_t n, enum benchmark preferred)
{
    const struct n_line *found = NULL;
    for (size_t i = 0; i < level->n_curves; i++) {
        const struct n_line *line = &lines_of(level, part)[i];
        if (line->fits && line->curve->n == n && (found == NULL || line->curve->benchmark == preferred))
            found = line;
    }
    return found;
}

/* Whether the points show an intercept: to 50 %, or as well as two points do. */
static bool shows_latency(const struct n_line *line)
{
    const struct line_value *tau = &line->line.intercept;
    return line->line.kind == LINE_PLAIN && !(tau->high - tau->low > tau->value);
}

static const struct n_line *line_of_tau(const struct level_fit *level, int part)
{
    bool large = large_messages(level->thresholds->protocol[part]);
    const struct n_line *single = line_find(level, part, 1, BENCHMARK_PINGPONG);
    const struct n_line *two = line_find(level, part, 2, BENCHMARK_ALGORITHM1);
    if (single == NULL && two == NULL) {
        for (size_t i = 0; i < level->n_curves; i++)
            if (lines_of(level, part)[i].fits)
                return &lines_of(level, part)[i];
        return NULL;
    }
    if (single == NULL || two == NULL)
        return single != NULL ? single : two;
    bool pingpong_is_better = level->options->method == LINE_RELATIVE &&
                              single->curve->benchmark == BENCHMARK_PINGPONG && !shows_latency(two) &&
                              (shows_latency(single) || single->line.kind == LINE_FLOOR);
    return large && !pingpong_is_better ? two : single;
}

static void estimate_append(struct estimates *estimates, const struct level_fit *level, int part, uint64_t n,
                            const struct n_line *line)
{
    estimates->estimates[estimates->n_estimates++] = (struct estimate){
        .protocol = level->thresholds->protocol[part],
        .n = n,
        .value = n == MACHINE_NO_N ? line->line.intercept : line->line.slope,
        .kind = line->line.kind,
        .samples = line->samples,
    };
}

/* Appends the latency of the part, not below floor, which it replaces. */
static void append_tau(struct estimates *estimates, const struct level_fit *level, int part, struct line_value *floor)
{
    estimate_append(estimates, level, part, MACHINE_NO_N, line_of_tau(level, part));
    struct estimate *tau = &estimates->estimates[estimates->n_estimates - 1];
    if (level->options->method == LINE_RELATIVE && line_value_raise(&tau->value, floor))
        tau->kind = LINE_FLOOR;
    *floor = tau->value;
}

static void estimate_collect(const struct level_fit *level, struct estimates *estimates)
{
    struct line_value floor = {0, 0, 0};
    for (int part = 0; part < level->thresholds->n; part++) {
        uint64_t last_n = 0;
        bool large = large_messages(level->thresholds->protocol[part]);
        if (line_of_tau(level, part) == NULL)
            continue;
        append_tau(estimates, level, part, &floor);
        for (size_t i = 0; i < level->n_curves; i++) { /* in the order of n */
            const struct n_line *line = &lines_of(level, part)[i];
            if (!line->fits || line->curve->n == last_n)
                continue;
            last_n = line->curve->n;
            estimate_append(estimates, level, part, last_n,
                            line_find(level, part, last_n, large ? BENCHMARK_ALGORITHM1 : BENCHMARK_PINGPONG));
        }
    }
}

struct estimates estimate_level(const struct curves *curves, enum level name, const struct fit_thresholds *thresholds,
                                const struct fit_options *options, FILE *notes)
{
    struct level_fit level = {.thresholds = thresholds, .options = options};
    size_t most = (size_t)thresholds->n * (curves->n_curves + 1);
    struct estimates estimates = {.estimates = xcalloc(most, sizeof *estimates.estimates)};
    level_init(&level, curves, name);
    say_left_out(&level, name, notes);
    if (options->method == LINE_RELATIVE)
        refine(&level);
    estimate_collect(&level, &estimates);
    free(level.lines);
    return estimates;
}

/* Takes the values of a level in one replicate: values[i * stride] for its i-th estimate. Other times may allow a line
 * where those measured allow none, or none where they do: an estimate that a replicate lacks keeps its own value there.
 * Both are in the same order. */
static void take_values(const struct estimates *estimates, const struct estimates *again, double *values, size_t stride)
{
    for (size_t i = 0, next = 0; i < estimates->n_estimates; i++, values += stride) {
        const struct estimate *wanted = &estimates->estimates[i];
        size_t k = next;
        while (k < again->n_estimates &&
               (again->estimates[k].protocol != wanted->protocol || again->estimates[k].n != wanted->n))
            k++;
        bool found = k < again->n_estimates;
        *values = found ? again->estimates[k].value.value : wanted->value.value;
        next = found ? k + 1 : next;
    }
}

void estimates_widen(struct level_estimates levels[LEVEL_COUNT], const struct samples *samples,
                     const struct curves *curves, const struct fit_options *options)
{
    struct resampling resampling;
    size_t n_replicates = bootstrap_replicates(options), n_values = 0;
    for (int level = 0; level < LEVEL_COUNT; level++)
        n_values += levels[level].estimates.n_estimates;
    double *values = xcalloc(n_values * n_replicates, sizeof *values), *row;
    resampling_init(&resampling, samples, curves, options->statistic, ESTIMATE_SEED);
    for (size_t i = 0; i < n_replicates; i++) {
        resampling_next(&resampling);
        row = &values[i];
        for (int level = 0; level < LEVEL_COUNT; level++) {
            if (levels[level].estimates.n_estimates == 0)
                continue;
            struct estimates again =
                estimate_level(&resampling.curves, (enum level)level, &levels[level].thresholds, options, NULL);
            take_values(&levels[level].estimates, &again, row, n_replicates);
            row += levels[level].estimates.n_estimates * n_replicates;
            estimates_release(&again);
        }
    }
    double factor = interval_few_launches(resampling.n_launches);
    row = values;
    for (int level = 0; level < LEVEL_COUNT; level++)
        for (size_t i = 0; i < levels[level].estimates.n_estimates; i++, row += n_replicates)
            interval_widen(&levels[level].estimates.estimates[i].value, row, n_replicates, factor);
    resampling_release(&resampling);
    free(values);
}

void estimates_release(struct estimates *estimates)
{
    free(estimates->estimates);
    *estimates = (struct estimates){0};
}

/* Replicates are drawn hundreds of times, so resampling copies the samples once, grouped by point, launch and domain,
 * and a draw is a pass over arrays. */
#include "calibrate/fit/bootstrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/memory.h"
#include "share/base/statistics.h"

/* Any numbers will do; the same samples give the same table. */
#define LAUNCHES_SEED   20180925ul
#define DIFFERENCE_SEED 20180521ul

enum { DIFFERENCE_REPLICATES = 500, FEW_SAMPLES = 6 };

size_t bootstrap_replicates(const struct fit_options *options)
{
    return options->replicates > 0 ? options->replicates : BOOTSTRAP_REPLICATES;
}

double interval_few_launches(size_t n_launches)
{
    double k = (double)n_launches;
    return n_launches < 2 ? 1 : line_quantile(n_launches - 1) / 1.959964 * sqrt(k / (k - 1));
}

void interval_of_replicates(struct line_value *value, double *replicates, size_t n_replicates, double factor)
{
    sort_doubles(replicates, n_replicates);
    double low = sorted_quantile(replicates, n_replicates, 0.025);
    double high = sorted_quantile(replicates, n_replicates, 0.975);
    value->low = fmin(value->value - factor * (value->value - low), value->value);
    value->high = fmax(value->value + factor * (high - value->value), value->value);
}

void interval_widen(struct line_value *value, double *replicates, size_t n_replicates, double factor)
{
    struct line_value again = *value;
    interval_of_replicates(&again, replicates, n_replicates, factor);
    again.low = fmin(fmax(again.low, 0), value->value);
    /* With too few points the residuals give no interval: the bootstrap's counts, unless there is one sample a size. */
    bool tells = again.low < again.high;
    value->low = !isnan(value->low) ? fmin(value->low, again.low) : tells ? again.low : NAN;
    value->high = !isnan(value->high) ? fmax(value->high, again.high) : tells ? again.high : NAN;
}

/* Samples of one benchmark, those of launch[i] at [first[i], first[i + 1]). */
struct by_launch {
    struct sample *samples;
    size_t n_samples;
    size_t *first; /* [n_launches + 1] */
    size_t n_launches;
};

static int compare_launches(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    return (a->launch > b->launch) - (a->launch < b->launch);
}

static struct by_launch split(const struct samples *samples, enum benchmark benchmark)
{
    struct by_launch split = {.samples = xcalloc(samples->n_samples, sizeof *split.samples),
                              .first = xcalloc(samples->n_samples + 1, sizeof *split.first)};
    for (size_t i = 0; i < samples->n_samples; i++)
        if (samples->samples[i].benchmark == benchmark)
            split.samples[split.n_samples++] = samples->samples[i];
    qsort(split.samples, split.n_samples, sizeof *split.samples, compare_launches);
    for (size_t i = 0; i < split.n_samples; i++)
        if (i == 0 || split.samples[i].launch != split.samples[i - 1].launch)
            split.first[split.n_launches++] = i;
    split.first[split.n_launches] = split.n_samples;
    return split;
}

/* Draws as many launches as there are into drawn, sorted. */
static void draw_launches(const struct by_launch *split, struct twister *random, struct samples *drawn)
{
    drawn->n_samples = 0;
    for (size_t i = 0; i < split->n_launches; i++) {
        size_t launch = twister_below(random, split->n_launches);
        for (size_t j = split->first[launch]; j < split->first[launch + 1]; j++)
            samples_append(drawn, &split->samples[j]);
    }
    samples_sort(drawn);
}

void bootstrap_launches(const struct samples *samples, enum benchmark benchmark, bootstrap_estimate *estimate,
                        const struct fit_options *options, const void *context, struct line_value *const values[],
                        size_t n_values)
{
    struct by_launch by_launch = split(samples, benchmark);
    struct samples drawn = {0};
    size_t n = bootstrap_replicates(options), n_fitted = 0;
    struct twister random;
    twister_seed(&random, LAUNCHES_SEED);
    double *replicates = xcalloc(n * n_values, sizeof *replicates); /* of each value, n after the other */
    for (size_t i = 0; i < n && by_launch.n_launches > 1; i++) {
        double found[BOOTSTRAP_VALUES_MAX];
        draw_launches(&by_launch, &random, &drawn);
        if (!estimate(&drawn, options, context, found))
            continue;
        for (size_t value = 0; value < n_values; value++)
            replicates[value * n + n_fitted] = found[value];
        n_fitted++;
    }
    double factor = interval_few_launches(by_launch.n_launches);
    for (size_t value = 0; value < n_values && n_fitted > 0; value++)
        interval_widen(values[value], &replicates[value * n], n_fitted, factor);
    free(by_launch.samples);
    free(by_launch.first);
    free(replicates);
    samples_release(&drawn);
}

/* Notes a launch; if there are too many, all count as one. */
static void note_launch(struct resampling *resampling, uint32_t launch)
{
    for (size_t i = 0; i < resampling->n_launches; i++)
        if (resampling->launch[i] == launch)
            return;
    if (resampling->n_launches < RESAMPLING_LAUNCHES_MAX)
        resampling->launch[resampling->n_launches] = launch;
    resampling->n_launches++;
}

static void find_groups(struct resampling *resampling, const struct samples *samples, const struct curves *curves)
{
    for (size_t i = 0; i < curves->n_curves; i++) {
        const struct curve *curve = &curves->curves[i];
        for (size_t point = 0; point < curve->n_points; point++)
            for (size_t k = 0; k < curve->n_samples[point] && resampling->n_launches <= RESAMPLING_LAUNCHES_MAX; k++) {
                const struct sample *sample = &samples->samples[curve->first[point] + k];
                note_launch(resampling, sample->launch);
                if (sample->domain != DOMAIN_NONE)
                    resampling->n_domains = DOMAIN_COUNT;
            }
    }
    if (resampling->n_launches > RESAMPLING_LAUNCHES_MAX)
        resampling->n_launches = 1;
}

/* Copies the times of a point, one launch after the other, and one domain after the other within; returns the largest
 * launch's size. */
static size_t group_point(struct resampling *resampling, const struct sample *samples, size_t n_samples, size_t begin,
                          size_t *groups)
{
    size_t at = begin, largest = 0, n_domains = resampling->n_domains;
    for (size_t launch = 0; launch < resampling->n_launches; launch++) {
        size_t before = at;
        for (size_t domain = 0; domain < n_domains; domain++) {
            groups[launch * n_domains + domain] = at;
            for (size_t i = 0; i < n_samples; i++)
                if ((resampling->n_launches == 1 || samples[i].launch == resampling->launch[launch]) &&
                    (n_domains == 1 || samples[i].domain == domain))
                    resampling->seconds[at++] = samples[i].seconds;
        }
        if (at - before > largest)
            largest = at - before;
    }
    groups[resampling->n_launches * n_domains] = at;
    return largest;
}

void resampling_init(struct resampling *resampling, const struct samples *samples, const struct curves *curves,
                     enum samples_statistic statistic, unsigned long seed)
{
    *resampling = (struct resampling){.statistic = statistic, .n_domains = 1};
    twister_seed(&resampling->random, seed);
    memcpy(resampling->domain_pairs, samples->domain_pairs, sizeof resampling->domain_pairs);
    find_groups(resampling, samples, curves);
    size_t n_points = 0, largest = 0, width = resampling->n_launches * resampling->n_domains + 1;
    for (size_t i = 0; i < curves->n_curves; i++)
        n_points += curves->curves[i].n_points;
    resampling->seconds = xcalloc(samples->n_samples, sizeof *resampling->seconds);
    resampling->groups = xcalloc(n_points * width, sizeof *resampling->groups);
    resampling->curves = (struct curves){xcalloc(curves->n_curves, sizeof(struct curve)), curves->n_curves};
    for (size_t i = 0, index = 0, at = 0; i < curves->n_curves; i++) {
        const struct curve *curve = &curves->curves[i];
        resampling->curves.curves[i] = *curve;
        resampling->curves.curves[i].seconds = xcalloc(curve->n_points, sizeof *curve->seconds);
        for (size_t point = 0; point < curve->n_points; point++, index++) {
            size_t group = group_point(resampling, &samples->samples[curve->first[point]], curve->n_samples[point], at,
                                       &resampling->groups[index * width]);
            at += curve->n_samples[point];
            largest = group > largest ? group : largest;
        }
    }
    resampling->drawn = xcalloc(largest * resampling->n_launches, sizeof *resampling->drawn);
}

/* Draws as many times as [begin, end) has. */
static size_t bootstrap_draw(struct resampling *resampling, size_t begin, size_t end, double *drawn)
{
    for (size_t i = begin; i < end; i++)
        drawn[i - begin] = resampling->seconds[begin + twister_below(&resampling->random, end - begin)];
    return end - begin;
}

/* Returns the time of a point's domain as drawn, 0 where it was not measured. groups are those of the point. */
static double draw_domain(struct resampling *resampling, const size_t *groups, const size_t *launches, size_t domain)
{
    size_t n_drawn = 0, n_launches = resampling->n_launches, n_domains = resampling->n_domains;
    for (size_t k = 0; k < n_launches; k++) {
        const size_t *group = &groups[launches[k] * n_domains + domain];
        n_drawn += bootstrap_draw(resampling, group[0], group[1], &resampling->drawn[n_drawn]);
    }
    for (size_t k = 0; n_drawn == 0 && k < n_launches; k++) { /* none of the launches that were drawn has it */
        const size_t *group = &groups[k * n_domains + domain];
        n_drawn += bootstrap_draw(resampling, group[0], group[1], &resampling->drawn[n_drawn]);
    }
    return n_drawn > 0 ? samples_reduce(resampling->drawn, n_drawn, resampling->statistic) : 0;
}

void resampling_next(struct resampling *resampling)
{
    size_t launches[RESAMPLING_LAUNCHES_MAX], n_launches = resampling->n_launches;
    for (size_t i = 0; i < n_launches; i++)
        launches[i] = twister_below(&resampling->random, n_launches);
    const size_t *groups = resampling->groups;
    for (size_t i = 0; i < resampling->curves.n_curves; i++) {
        struct curve *curve = &resampling->curves.curves[i];
        for (size_t point = 0; point < curve->n_points; point++, groups += n_launches * resampling->n_domains + 1) {
            double seconds[DOMAIN_COUNT] = {0};
            for (size_t domain = 0; domain < resampling->n_domains; domain++)
                seconds[domain] = draw_domain(resampling, groups, launches, domain);
            curve->seconds[point] = samples_combine(seconds, resampling->domain_pairs);
        }
    }
}

void resampling_release(struct resampling *resampling)
{
    for (size_t i = 0; i < resampling->curves.n_curves; i++)
        free(resampling->curves.curves[i].seconds);
    free(resampling->curves.curves);
    free(resampling->seconds);
    free(resampling->groups);
    free(resampling->drawn);
    *resampling = (struct resampling){0};
}

/* Sets the interval of a difference to the bootstrap's percentile interval. With few samples, or few launches if there
 * are several, it would be too narrow. So it is expanded as by Hesterberg (What teachers should know about the
 * bootstrap, The American Statistician 69(4), 2015): outside of it lies the share of a normal distribution beyond
 * sqrt(n/(n - 1)) times the quantile of Student's t. */
static void difference_bootstrap(const struct samples *samples, enum samples_statistic statistic,
                                 struct sample_set first, struct sample_set second, struct difference *difference)
{
    /* Each set makes a curve of one point. */
    double bytes = 0, replicates[DIFFERENCE_REPLICATES];
    struct curve points[] = {
        {.n_points = 1, .bytes = &bytes, .n_samples = &first.n, .first = &first.first},
        {.n_points = 1, .bytes = &bytes, .n_samples = &second.n, .first = &second.first},
    };
    struct resampling resampling;
    resampling_init(&resampling, samples, &(struct curves){points, 2}, statistic, DIFFERENCE_SEED);
    for (int i = 0; i < DIFFERENCE_REPLICATES; i++) {
        resampling_next(&resampling);
        replicates[i] = resampling.curves.curves[1].seconds[0] - resampling.curves.curves[0].seconds[0];
    }
    sort_doubles(replicates, DIFFERENCE_REPLICATES);
    size_t n = resampling.n_launches > 1 ? resampling.n_launches : difference->n_smaller;
    double outside = normal_below(-sqrt((double)n / (double)(n - 1)) * line_quantile(n - 1));
    double low_s = sorted_quantile(replicates, DIFFERENCE_REPLICATES, outside);
    double high_s = sorted_quantile(replicates, DIFFERENCE_REPLICATES, 1 - outside);
    difference->low_s = fmin(low_s, difference->value_s);
    difference->high_s = fmax(high_s, difference->value_s);
    resampling_release(&resampling);
}

/* Returns the variance of the mean. */
static double uncertainty(const struct sample *samples, size_t n)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += samples[i].seconds / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (samples[i].seconds - mean) * (samples[i].seconds - mean);
    return squares / (double)(n - 1) / (double)n;
}

struct difference difference_find(const struct samples *samples, enum samples_statistic statistic,
                                  struct sample_set first, struct sample_set second)
{
    const struct sample *sample = samples->samples;
    struct difference difference = {
        .first_s = set_seconds(samples, first, statistic),
        .second_s = set_seconds(samples, second, statistic),
        .low_s = NAN,
        .high_s = NAN,
        .gap_s = sample[second.first].seconds - sample[first.first + first.n - 1].seconds,
        .n_samples = first.n + second.n,
        .n_smaller = first.n < second.n ? first.n : second.n,
    };
    difference.value_s = difference.second_s - difference.first_s;
    if (difference.n_smaller >= FEW_SAMPLES) {
        difference_bootstrap(samples, statistic, first, second, &difference);
    } else if (difference.n_smaller > 1) {
        /* Fewer than 6 samples cannot bound their median with 95 % at all: the interval is Welch's for the means, round
         * the difference of the medians; the degrees of freedom are the smaller set's, which is on the safe side. */
        double variance = uncertainty(&sample[first.first], first.n) + uncertainty(&sample[second.first], second.n);
        double half = line_quantile(difference.n_smaller - 1) * sqrt(variance);
        difference.low_s = difference.value_s - half;
        difference.high_s = difference.value_s + half;
    }
    return difference;
}

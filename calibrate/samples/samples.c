/* Keeps the samples with which every fit starts: their order, and one time for each size. */
#include "calibrate/samples/samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

#define NAME(name, text) text,
const char *const benchmark_name[BENCHMARK_COUNT] = {BENCHMARKS(NAME)}, *const variant_name[VARIANT_COUNT] = {
                                                                            VARIANTS(NAME)};

void samples_append(struct samples *samples, const struct sample *sample)
{
    array_grow(&samples->samples, samples->n_samples, sizeof *samples->samples);
    samples->samples[samples->n_samples++] = *sample;
}

void samples_release(struct samples *samples)
{
    free(samples->samples);
    probings_release(&samples->probings);
    *samples = (struct samples){0};
}

/* Orders the curves: level, n, benchmark, variant. */
static int compare_curves(const struct sample *a, const struct sample *b)
{
    int order = COMPARE(a->level, b->level);
    if (order == 0)
        order = COMPARE(a->n, b->n);
    if (order == 0)
        order = COMPARE(a->benchmark, b->benchmark);
    return order != 0 ? order : COMPARE(a->variant, b->variant);
}

int samples_compare_points(const struct sample *a, const struct sample *b)
{
    int order = compare_curves(a, b);
    if (order == 0)
        order = COMPARE(a->bytes, b->bytes);
    if (order == 0)
        order = COMPARE(a->count, b->count);
    return order != 0 ? order : COMPARE(a->domain, b->domain);
}

struct sample_set samples_set(const struct samples *samples, size_t first)
{
    struct sample_set set = {.first = first};
    while (first + set.n < samples->n_samples &&
           samples_compare_points(&samples->samples[first], &samples->samples[first + set.n]) == 0)
        set.n++;
    return set;
}

static int samples_compare_samples(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    int order = samples_compare_points(a, b);
    return order != 0 ? order : COMPARE(a->seconds, b->seconds);
}

void samples_sort(struct samples *samples)
{
    if (samples->n_samples > 0)
        qsort(samples->samples, samples->n_samples, sizeof *samples->samples, samples_compare_samples);
}

double samples_reduce(double *values, size_t n_values, enum samples_statistic statistic)
{
    double least = values[0];
    for (size_t i = 1; i < n_values && statistic == STATISTIC_MIN; i++)
        least = values[i] < least ? values[i] : least;
    return statistic == STATISTIC_MIN ? least : unsorted_median(values, n_values);
}

double samples_combine(const double seconds[DOMAIN_COUNT], const double n_pairs[DOMAIN_COUNT])
{
    double value[DOMAIN_COUNT], weight[DOMAIN_COUNT], all = 0, sum = 0;
    size_t n = 0;
    for (int domain = 0; domain < DOMAIN_COUNT; domain++) {
        if (!(seconds[domain] > 0))
            continue;
        size_t i = n++;
        double own = n_pairs[domain] > 0 ? n_pairs[domain] : 1;
        for (; i > 0 && value[i - 1] > seconds[domain]; i--) {
            value[i] = value[i - 1];
            weight[i] = weight[i - 1];
        }
        value[i] = seconds[domain];
        weight[i] = own;
        all += own;
    }
    for (size_t i = 0; i < n; i++) {
        sum += weight[i];
        if (2 * sum > all)
            return value[i];
        if (2 * sum >= all) /* exactly half of the pairs are faster */
            return (value[i] + value[i + 1]) / 2;
    }
    return 0;
}

/* Makes a curve of the samples [begin, begin + n_samples). values[n_samples] gives room for their times. */
static struct curve curve_make(const struct samples *all, size_t begin, size_t n_samples,
                               enum samples_statistic statistic, double *values)
{
    const struct sample *samples = &all->samples[begin];
    struct curve curve = {
        .level = (enum level)samples[0].level,
        .benchmark = (enum benchmark)samples[0].benchmark,
        .n = samples[0].n,
        .bytes = xcalloc(n_samples, sizeof *curve.bytes),
        .seconds = xcalloc(n_samples, sizeof *curve.seconds),
        .n_samples = xcalloc(n_samples, sizeof *curve.n_samples),
        .first = xcalloc(n_samples, sizeof *curve.first),
    };
    for (size_t first = 0, end; first < n_samples; first = end) {
        for (end = first + 1; end < n_samples && samples[end].bytes == samples[first].bytes;)
            end++;
        double seconds[DOMAIN_COUNT] = {0};
        for (size_t i = first, n; i < end; i += n) {
            for (n = 0; i + n < end && samples[i + n].domain == samples[i].domain; n++)
                values[n] = samples[i + n].seconds;
            seconds[samples[i].domain] = samples_reduce(values, n, statistic);
        }
        size_t point = curve.n_points++;
        curve.bytes[point] = (double)samples[first].bytes;
        curve.seconds[point] = samples_combine(seconds, all->domain_pairs);
        curve.first[point] = begin + first;
        curve.n_samples[point] = end - first;
    }
    return curve;
}

struct curves curves_make(const struct samples *samples, enum samples_statistic statistic)
{
    struct curves curves = {0};
    const struct sample *sample = samples->samples;
    double *values = xcalloc(samples->n_samples, sizeof *values);
    for (size_t first = 0, end; first < samples->n_samples; first = end) {
        for (end = first + 1; end < samples->n_samples && compare_curves(&sample[first], &sample[end]) == 0;)
            end++;
        if (sample[first].benchmark != BENCHMARK_PINGPONG && sample[first].benchmark != BENCHMARK_ALGORITHM1)
            continue;
        array_grow(&curves.curves, curves.n_curves, sizeof *curves.curves);
        curves.curves[curves.n_curves++] = curve_make(samples, first, end - first, statistic, values);
    }
    free(values);
    return curves;
}

void curves_release(struct curves *curves)
{
    for (size_t i = 0; i < curves->n_curves; i++) {
        free(curves->curves[i].bytes);
        free(curves->curves[i].seconds);
        free(curves->curves[i].n_samples);
        free(curves->curves[i].first);
    }
    free(curves->curves);
    *curves = (struct curves){0};
}

void curve_range(const struct curve *curve, double begin_bytes, double end_bytes, size_t *first, size_t *end)
{
    for (*first = 0; *first < curve->n_points && curve->bytes[*first] < begin_bytes;)
        ++*first;
    for (*end = *first; *end < curve->n_points && curve->bytes[*end] < end_bytes;)
        ++*end;
}

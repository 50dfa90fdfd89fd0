/* The interval is the bootstrap's percentile interval (resample.h). With few samples, or few launches if there are
 * several, it would be too narrow. So it is expanded as by Hesterberg (What teachers should know about the bootstrap,
 * The American Statistician 69(4), 2015): outside of it lies the share of a normal distribution beyond sqrt(n/(n - 1))
 * times the quantile of Student's t. Fewer than 6 samples cannot bound their median with 95 % at all: where a set has
 * no more, the interval is Student's t for the means, around the difference of the medians. */
#include "calibrate/fit/difference.h"

#include <math.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "calibrate/fit/fits.h"
#include "calibrate/fit/line.h"
#include "calibrate/fit/resample.h"

enum { REPLICATES = 500, FEW_SAMPLES = 6 };

#define SEED 20180521ul /* any; the same samples give the same table */

/* Returns the share of the replicates that lies below the interval, and above it. */
static double share_outside(size_t n)
{
    return gsl_cdf_ugaussian_P(-sqrt((double)n / (double)(n - 1)) * line_quantile(n - 1));
}

static int bootstrap(const struct samples *samples, enum samples_statistic statistic, struct sample_set first,
                     struct sample_set second, struct difference *difference)
{
    /* Each set makes a curve of one point. */
    double bytes = 0, replicates[REPLICATES];
    struct curve points[] = {
        {.n_points = 1, .bytes = &bytes, .n_samples = &first.n, .first = &first.first},
        {.n_points = 1, .bytes = &bytes, .n_samples = &second.n, .first = &second.first},
    };
    struct curves curves = {.curves = points, .n_curves = 2};
    struct resampling resampling;
    if (resampling_init(&resampling, samples, &curves, statistic, SEED) != 0)
        return -1;
    for (int i = 0; i < REPLICATES; i++) {
        resampling_next(&resampling);
        replicates[i] = resampling.curves.curves[1].seconds[0] - resampling.curves.curves[0].seconds[0];
    }
    gsl_sort(replicates, 1, REPLICATES);
    double share = share_outside(resampling.n_launches > 1 ? resampling.n_launches : difference->n_smaller);
    double low_s = gsl_stats_quantile_from_sorted_data(replicates, 1, REPLICATES, share);
    double high_s = gsl_stats_quantile_from_sorted_data(replicates, 1, REPLICATES, 1 - share);
    difference->low_s = fmin(low_s, difference->value_s);
    difference->high_s = fmax(high_s, difference->value_s);
    resampling_release(&resampling);
    return 0;
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

/* Computes Welch's interval; the degrees of freedom are the smaller set's, which is on the safe side. */
static void student(const struct samples *samples, struct sample_set first, struct sample_set second,
                    struct difference *difference)
{
    if (difference->n_smaller < 2)
        return;
    double variance =
        uncertainty(&samples->samples[first.first], first.n) + uncertainty(&samples->samples[second.first], second.n);
    double half = line_quantile(difference->n_smaller - 1) * sqrt(variance);
    difference->low_s = difference->value_s - half;
    difference->high_s = difference->value_s + half;
}

int difference_find(const struct samples *samples, enum samples_statistic statistic, struct sample_set first,
                    struct sample_set second, struct difference *difference)
{
    const struct sample *sample = samples->samples;
    *difference = (struct difference){
        .first_s = benchmark_statistic(&sample[first.first], first.n, statistic),
        .second_s = benchmark_statistic(&sample[second.first], second.n, statistic),
        .low_s = NAN,
        .high_s = NAN,
        .gap_s = sample[second.first].seconds - sample[first.first + first.n - 1].seconds,
        .n_samples = first.n + second.n,
        .n_smaller = first.n < second.n ? first.n : second.n,
    };
    difference->value_s = difference->second_s - difference->first_s;
    if (difference->n_smaller >= FEW_SAMPLES)
        return bootstrap(samples, statistic, first, second, difference);
    student(samples, first, second, difference);
    return 0;
}

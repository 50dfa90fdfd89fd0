/* A replicate is fitted exactly as the samples were, but its lines may be other ones: estimates and replicates have to
 * be brought together value by value. */
#include "calibrate/fit/intervals.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#define SEED 20230725ul /* any; the same samples give the same table */

double interval_few_launches(size_t n_launches)
{
    double k = (double)n_launches;
    return n_launches < 2 ? 1 : line_quantile(n_launches - 1) / 1.959964 * sqrt(k / (k - 1));
}

static size_t count_all(const struct level_estimates *levels)
{
    size_t n = 0;
    for (int level = 0; level < LEVEL_COUNT; level++)
        n += levels[level].estimates.n_estimates;
    return n;
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

/* Estimates the values of one replicate: values[i * stride] for the i-th estimate of all levels. */
static int estimate_replicate(const struct level_estimates *levels, const struct resampling *resampling,
                              const struct fit_options *options, double *values, size_t stride)
{
    for (int level = 0; level < LEVEL_COUNT; level++) {
        if (levels[level].estimates.n_estimates == 0)
            continue;
        struct estimates again;
        if (estimate_level(&resampling->curves, (enum level)level, &levels[level].thresholds, options, NULL, &again) !=
            0)
            return -1;
        take_values(&levels[level].estimates, &again, values, stride);
        values += levels[level].estimates.n_estimates * stride;
        estimates_release(&again);
    }
    return 0;
}

void interval_of_replicates(struct line_value *value, double *replicates, size_t n_replicates, double factor)
{
    gsl_sort(replicates, 1, n_replicates);
    double low = gsl_stats_quantile_from_sorted_data(replicates, 1, n_replicates, 0.025);
    double high = gsl_stats_quantile_from_sorted_data(replicates, 1, n_replicates, 0.975);
    value->low = fmin(value->value - factor * (value->value - low), value->value);
    value->high = fmax(value->value + factor * (high - value->value), value->value);
}

void interval_widen(struct line_value *value, double *replicates, size_t n_replicates, double factor)
{
    struct line_value again = *value;
    interval_of_replicates(&again, replicates, n_replicates, factor);
    again.low = fmin(fmax(again.low, 0), value->value);
    /* If the residuals do not tell an end, for want of points, it is the bootstrap's; one sample a size tells none. */
    bool tells = again.low < again.high;
    value->low = !isnan(value->low) ? fmin(value->low, again.low) : tells ? again.low : NAN;
    value->high = !isnan(value->high) ? fmax(value->high, again.high) : tells ? again.high : NAN;
}

int intervals_widen(struct level_estimates levels[LEVEL_COUNT], const struct samples *samples,
                    const struct curves *curves, const struct fit_options *options)
{
    struct resampling resampling;
    size_t n_replicates = options->replicates > 0 ? options->replicates : INTERVALS_REPLICATES;
    double *values = calloc(count_all(levels) * n_replicates + 1, sizeof *values), *row = values;
    if (values == NULL || resampling_init(&resampling, samples, curves, options->statistic, SEED) != 0) {
        free(values);
        return -1;
    }
    int result = 0;
    for (size_t i = 0; i < n_replicates && result == 0; i++) {
        resampling_next(&resampling);
        result = estimate_replicate(levels, &resampling, options, &values[i], n_replicates);
    }
    double factor = interval_few_launches(resampling.n_launches);
    for (int level = 0; level < LEVEL_COUNT && result == 0; level++)
        for (size_t i = 0; i < levels[level].estimates.n_estimates; i++, row += n_replicates)
            interval_widen(&levels[level].estimates.estimates[i].value, row, n_replicates, factor);
    resampling_release(&resampling);
    free(values);
    return result;
}

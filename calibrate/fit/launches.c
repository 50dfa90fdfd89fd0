/* Several fits need the same bootstrap over launches, each for values of its own: here samples of whole launches are
 * drawn, and the fit is a function that is called again. */
#include "calibrate/fit/launches.h"

#include <stdlib.h>

#include <gsl/gsl_rng.h>

#include "calibrate/fit/intervals.h"

#define SEED 20180925ul /* any; the same samples give the same table */

/* Holds the samples of one benchmark, those of launch[i] at [first[i], first[i + 1]). */
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

/* Returns 0, or -1 without memory. */
static int split(const struct samples *samples, enum benchmark benchmark, struct by_launch *split)
{
    *split = (struct by_launch){.samples = calloc(samples->n_samples + 1, sizeof *split->samples),
                                .first = calloc(samples->n_samples + 1, sizeof *split->first)};
    if (split->samples == NULL || split->first == NULL)
        return -1;
    for (size_t i = 0; i < samples->n_samples; i++)
        if (samples->samples[i].benchmark == benchmark)
            split->samples[split->n_samples++] = samples->samples[i];
    qsort(split->samples, split->n_samples, sizeof *split->samples, compare_launches);
    for (size_t i = 0; i < split->n_samples; i++)
        if (i == 0 || split->samples[i].launch != split->samples[i - 1].launch)
            split->first[split->n_launches++] = i;
    split->first[split->n_launches] = split->n_samples;
    return 0;
}

/* Draws as many launches as there are into drawn, sorted. Returns 0, or -1 without memory. */
static int draw(const struct by_launch *split, gsl_rng *random, struct samples *drawn)
{
    drawn->n_samples = 0;
    for (size_t i = 0; i < split->n_launches; i++) {
        size_t launch = gsl_rng_uniform_int(random, split->n_launches);
        for (size_t j = split->first[launch]; j < split->first[launch + 1]; j++)
            if (samples_append(drawn, &split->samples[j]) != 0)
                return -1;
    }
    samples_sort(drawn);
    return 0;
}

int launches_widen(const struct samples *samples, enum benchmark benchmark, launches_estimate *estimate,
                   const struct fit_options *options, const void *context, struct line_value *const values[],
                   size_t n_values)
{
    struct by_launch by_launch;
    struct samples drawn = {0};
    size_t n = options->replicates > 0 ? options->replicates : INTERVALS_REPLICATES, n_fitted = 0;
    gsl_rng *random = gsl_rng_alloc(gsl_rng_taus2);
    double *replicates = calloc(n * n_values, sizeof *replicates); /* replicates of each value, n after the other */
    int result = split(samples, benchmark, &by_launch);
    if (random == NULL || replicates == NULL)
        result = -1;
    if (random != NULL)
        gsl_rng_set(random, SEED);
    for (size_t i = 0; i < n && result == 0 && by_launch.n_launches > 1; i++) {
        double found[LAUNCHES_VALUES_MAX];
        result = draw(&by_launch, random, &drawn);
        if (result != 0 || estimate(&drawn, options, context, found) != 0)
            continue;
        for (size_t value = 0; value < n_values; value++)
            replicates[value * n + n_fitted] = found[value];
        n_fitted++;
    }
    double factor = result == 0 ? interval_few_launches(by_launch.n_launches) : 1;
    for (size_t value = 0; value < n_values && result == 0 && n_fitted > 0; value++)
        interval_widen(values[value], &replicates[value * n], n_fitted, factor);
    free(by_launch.samples);
    free(by_launch.first);
    free(replicates);
    samples_release(&drawn);
    if (random != NULL)
        gsl_rng_free(random);
    return result;
}

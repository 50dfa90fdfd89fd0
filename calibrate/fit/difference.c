/* The interval is the bootstrap's percentile interval: both sets are drawn again from themselves 1000 times. Where the
 * job was launched several times, launches are drawn first, the same ones for both sets, and then samples within each.
 * For few samples (or launches) that interval is too narrow; it is expanded as by Hesterberg (What teachers should know
 * about the bootstrap, The American Statistician 69(4), 2015, section 5.3): the share outside of it is the one of a
 * normal distribution beyond sqrt(n/(n - 1)) times the quantile of Student's t. Fewer than 6 samples in a set cannot
 * bound their median with 95 % at all: Student's t for the means then, around the difference of the medians.
 */
#include "difference.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

enum { REPLICATES = 1000, FEW_SAMPLES = 6, MAX_LAUNCHES = 256 };

/* A set of samples, one launch after the other. */
struct set {
    size_t n;
    double *seconds;              /* [n] */
    size_t end[MAX_LAUNCHES + 1]; /* of launch i in seconds; it begins at end[i - 1] */
    double *drawn;                /* [drawn_size] */
    size_t drawn_size;
};

/* The launches of both sets. Too many to tell apart count as one. */
struct launches {
    size_t n;
    uint32_t number[MAX_LAUNCHES];
};

static void find_launches(const struct sample *samples, size_t n_samples, struct launches *launches)
{
    for (size_t i = 0; i < n_samples && launches->n <= MAX_LAUNCHES; i++) {
        size_t known = 0;
        while (known < launches->n && launches->number[known] != samples[i].launch)
            known++;
        if (known < launches->n)
            continue;
        if (launches->n < MAX_LAUNCHES)
            launches->number[launches->n] = samples[i].launch;
        launches->n++;
    }
}

static int set_init(struct set *set, const struct sample *samples, size_t n_samples, const struct launches *launches)
{
    size_t largest = 0;
    *set = (struct set){.n = n_samples, .seconds = malloc(n_samples * sizeof *set->seconds)};
    if (set->seconds == NULL)
        return -1;
    for (size_t launch = 0, at = 0; launch < launches->n; launch++) {
        size_t begin = at;
        for (size_t i = 0; i < n_samples; i++)
            if (launches->n == 1 || samples[i].launch == launches->number[launch])
                set->seconds[at++] = samples[i].seconds;
        set->end[launch] = at;
        largest = at - begin > largest ? at - begin : largest;
    }
    set->drawn = malloc(largest * launches->n * sizeof *set->drawn);
    return set->drawn != NULL ? 0 : -1;
}

static void set_release(struct set *set)
{
    free(set->seconds);
    free(set->drawn);
}

/* The median of the set drawn again from the launches that were picked; NaN where it has no sample in them. */
static double median_drawn(struct set *set, const size_t *picked, size_t n_launches, gsl_rng *random)
{
    size_t n_drawn = 0;
    for (size_t i = 0; i < n_launches; i++) {
        size_t begin = picked[i] == 0 ? 0 : set->end[picked[i] - 1], n = set->end[picked[i]] - begin;
        for (size_t k = 0; k < n; k++)
            set->drawn[n_drawn++] = set->seconds[begin + gsl_rng_uniform_int(random, n)];
    }
    return n_drawn > 0 ? gsl_stats_median(set->drawn, 1, n_drawn) : NAN;
}

/* What share of the replicates lies below the interval, and above it. */
static double share_outside(size_t n)
{
    if (n < 2)
        return 0;
    double quantile = gsl_cdf_tdist_Pinv(0.975, (double)(n - 1));
    return gsl_cdf_ugaussian_P(-sqrt((double)n / (double)(n - 1)) * quantile);
}

static int bootstrap(struct set *first, struct set *second, size_t n_launches, struct difference *difference)
{
    double replicates[REPLICATES];
    size_t n = 0, smaller = first->n < second->n ? first->n : second->n;
    gsl_rng *random = gsl_rng_alloc(gsl_rng_taus2);
    if (random == NULL)
        return -1;
    for (int i = 0; i < REPLICATES; i++) {
        size_t picked[MAX_LAUNCHES];
        for (size_t k = 0; k < n_launches; k++)
            picked[k] = n_launches == 1 ? 0 : gsl_rng_uniform_int(random, n_launches);
        double replicate =
            median_drawn(second, picked, n_launches, random) - median_drawn(first, picked, n_launches, random);
        if (!isnan(replicate))
            replicates[n++] = replicate;
    }
    gsl_rng_free(random);
    if (n == 0)
        return 0;
    gsl_sort(replicates, 1, n);
    double share = share_outside(n_launches > 1 ? n_launches : smaller);
    difference->low_s = fmin(gsl_stats_quantile_from_sorted_data(replicates, 1, n, share), difference->value_s);
    difference->high_s = fmax(gsl_stats_quantile_from_sorted_data(replicates, 1, n, 1 - share), difference->value_s);
    return 0;
}

/* Welch's interval; the degrees of freedom are the smaller set's, which is on the safe side. */
static void student(const struct set *first, const struct set *second, struct difference *difference)
{
    size_t smaller = first->n < second->n ? first->n : second->n;
    if (smaller < 2)
        return;
    double variance = gsl_stats_variance(first->seconds, 1, first->n) / (double)first->n +
                      gsl_stats_variance(second->seconds, 1, second->n) / (double)second->n;
    double half = gsl_cdf_tdist_Pinv(0.975, (double)(smaller - 1)) * sqrt(variance);
    difference->low_s = difference->value_s - half;
    difference->high_s = difference->value_s + half;
}

static double median_of(const struct set *set)
{
    for (size_t i = 0; i < set->n; i++)
        set->drawn[i] = set->seconds[i];
    return gsl_stats_median(set->drawn, 1, set->n);
}

int difference_find(const struct sample *first, size_t n_first, const struct sample *second, size_t n_second,
                    struct difference *difference)
{
    struct launches launches = {.n = 0};
    struct set sets[2] = {{.n = 0}, {.n = 0}};
    find_launches(first, n_first, &launches);
    find_launches(second, n_second, &launches);
    if (launches.n > MAX_LAUNCHES)
        launches.n = 1;
    int result = set_init(&sets[0], first, n_first, &launches);
    if (result == 0)
        result = set_init(&sets[1], second, n_second, &launches);
    if (result == 0) {
        struct difference found = {.first_s = median_of(&sets[0]),
                                   .second_s = median_of(&sets[1]),
                                   .low_s = NAN,
                                   .high_s = NAN,
                                   .n_samples = n_first + n_second};
        found.value_s = found.second_s - found.first_s;
        if (n_first < FEW_SAMPLES || n_second < FEW_SAMPLES)
            student(&sets[0], &sets[1], &found);
        else
            result = bootstrap(&sets[0], &sets[1], launches.n, &found);
        if (result == 0)
            *difference = found;
    }
    set_release(&sets[0]);
    set_release(&sets[1]);
    return result;
}

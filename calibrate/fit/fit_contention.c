/* Fits network contention (B5, T_c = delta * l): what a byte on a shared link costs.
 *
 * In the samples (calibrate/benchmark/contention.c) pairs of nodes send to each other across one link, alone and at the
 * same time: `count` messages of `bytes` from each of n processes, so that l = n * count * bytes crosses the link. A
 * shape (count, bytes) gives one time. Where the link is the limit the time of `shared` is T = tau * count + delta * l,
 * so T / l = delta + tau * (count / l): a line over count / l whose intercept is delta. Dividing by l also weighs every
 * shape alike, as relative least squares does, whether it took 0.2 or 200 ms. Shapes that do not follow the line do not
 * count (bisquare weights): buffers on the way take as much of the smallest shapes at once as the link should carry.
 *
 * A shape says something about the link only if its time grew by the sharing: T(shared) >= 1.25 T(alone). If the link
 * limits k pairs of nodes, they take k times as long, less where one pair alone cannot fill it; if not, they take as
 * long as before. A quarter more is above what medians differ by. What limits some l limits every larger one, so most
 * of the shapes from the median l on must have grown, three at least. Otherwise single ones grew by chance, as on a
 * busy machine, and no shared link is seen. Papers are named as in share/doc/MODELS.md. */
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>
#include <gsl/gsl_sort.h>

#include "calibrate/fit/fits.h"
#include "calibrate/fit/launches.h"

#define SHARING    1.25
#define SHAPES_MIN 3

/* Holds the samples of one (variant, n, bytes, count), which are neighbours once sorted. */
struct shape {
    const struct sample *first;
    size_t n_samples;
    double seconds;
};

static bool same_shape(const struct sample *a, const struct sample *b)
{
    return a->level == b->level && a->benchmark == b->benchmark && a->variant == b->variant && a->n == b->n &&
           a->bytes == b->bytes && a->count == b->count;
}

/* Finds all shapes of the benchmark; returns how many. */
static size_t find_shapes(const struct samples *samples, enum samples_statistic statistic, struct shape *shapes)
{
    size_t n_shapes = 0;
    for (size_t i = 0, end; i < samples->n_samples; i = end) {
        const struct sample *first = &samples->samples[i];
        for (end = i + 1; end < samples->n_samples && same_shape(first, &samples->samples[end]);)
            end++;
        if (first->benchmark != BENCHMARK_CONTENTION || first->level != LEVEL_INTER_NODE)
            continue;
        shapes[n_shapes++] = (struct shape){first, end - i, benchmark_statistic(first, end - i, statistic)};
    }
    return n_shapes;
}

/* Returns the time of the slowest pair of nodes with that shape by itself; 0 if it was not measured. */
static double seconds_alone(const struct shape *shapes, size_t n_shapes, const struct shape *shared)
{
    double seconds = 0;
    for (size_t i = 0; i < n_shapes; i++)
        if (shapes[i].first->variant == VARIANT_ALONE && shapes[i].first->bytes == shared->first->bytes &&
            shapes[i].first->count == shared->first->count)
            seconds = fmax(seconds, shapes[i].seconds);
    return seconds;
}

/* Fits T / l over count / l of the n shapes: a line with with_tau, else a constant. Returns 0, or -1 where there is no
 * such line. */
static int fit_shapes(const double *count_over_l, const double *seconds_over_l, size_t n, bool with_tau,
                      struct line_value *tau, struct line_value *delta)
{
    size_t p = with_tau ? 2 : 1;
    gsl_matrix *x = gsl_matrix_alloc(n, p), *covariance = gsl_matrix_alloc(p, p);
    gsl_vector *y = gsl_vector_alloc(n), *c = gsl_vector_alloc(p);
    gsl_multifit_robust_workspace *work = gsl_multifit_robust_alloc(gsl_multifit_robust_bisquare, n, p);
    int result = -1;
    if (x == NULL || covariance == NULL || y == NULL || c == NULL || work == NULL)
        goto out;
    for (size_t i = 0; i < n; i++) {
        gsl_matrix_set(x, i, 0, 1);
        if (with_tau)
            gsl_matrix_set(x, i, 1, count_over_l[i]);
        gsl_vector_set(y, i, seconds_over_l[i]);
    }
    /* A fit that did not settle within GSL's number of steps is still a fit; NaN is none. */
    gsl_multifit_robust(x, y, c, covariance, work);
    double half = gsl_cdf_tdist_Pinv(0.975, (double)(n - p));
    double value = gsl_vector_get(c, 0), width = half * sqrt(gsl_matrix_get(covariance, 0, 0));
    *delta = (struct line_value){value, fmax(value - width, 0), value + width};
    value = with_tau ? gsl_vector_get(c, 1) : 0;
    width = with_tau ? half * sqrt(gsl_matrix_get(covariance, 1, 1)) : NAN;
    *tau = (struct line_value){value, value - width, value + width};
    if (isfinite(delta->value) && isfinite(delta->high) && isfinite(tau->value))
        result = 0;
out:
    gsl_multifit_robust_free(work);
    gsl_vector_free(y);
    gsl_vector_free(c);
    gsl_matrix_free(x);
    gsl_matrix_free(covariance);
    return result;
}

/* Fits delta, with tau where the shapes tell it and it is not negative. */
static int fit_delta(const double *count_over_l, const double *seconds_over_l, size_t n, struct line_value *tau,
                     struct line_value *delta)
{
    bool differ = false;
    for (size_t i = 1; i < n; i++)
        differ = differ || fabs(count_over_l[i] - count_over_l[0]) > 1e-9 * count_over_l[0];
    gsl_error_handler_t *before = gsl_set_error_handler_off();
    int result = -1;
    if (differ && fit_shapes(count_over_l, seconds_over_l, n, true, tau, delta) == 0 && tau->value >= 0)
        result = 0;
    else
        result = fit_shapes(count_over_l, seconds_over_l, n, false, tau, delta);
    gsl_set_error_handler(before);
    return result == 0 && delta->value > 0 ? 0 : -1;
}

/* Says whether most of the shapes from the median l on were slowed; sorts across and slowed_across. */
static bool sees_link(double *across, size_t n, double *slowed_across, size_t n_slowed)
{
    if (n_slowed < SHAPES_MIN)
        return false;
    gsl_sort(across, 1, n);
    gsl_sort(slowed_across, 1, n_slowed);
    double median = across[n / 2];
    size_t large = 0, large_slowed = 0;
    for (size_t i = 0; i < n; i++)
        large += across[i] >= median;
    for (size_t i = 0; i < n_slowed; i++)
        large_slowed += slowed_across[i] >= median;
    return 2 * large_slowed > large;
}

/* Holds what the samples show. */
struct finding {
    size_t compared; /* shapes measured alone and shared */
    size_t slowed;   /* shapes of these that the sharing slowed */
    bool link_seen;
    size_t n_samples;
    bool measured; /* anything was measured at all */
    bool fitted;
    struct line_value tau;
    struct line_value delta;
};

/* Returns 0, or -1 without memory. */
static int find(const struct samples *samples, const struct fit_options *options, struct finding *found)
{
    *found = (struct finding){0};
    size_t capacity = samples->n_samples + 1, n_slowed = 0;
    struct shape *shapes = calloc(capacity, sizeof *shapes);
    double *count_over_l = calloc(capacity, sizeof *count_over_l), *seconds_over_l = calloc(capacity, sizeof(double));
    double *l = calloc(capacity, sizeof *l), *slowed_l = calloc(capacity, sizeof *slowed_l);
    int result =
        shapes == NULL || count_over_l == NULL || seconds_over_l == NULL || l == NULL || slowed_l == NULL ? -1 : 0;
    size_t n_shapes = result == 0 ? find_shapes(samples, options->statistic, shapes) : 0;
    for (size_t i = 0; i < n_shapes; i++) {
        const struct sample *sample = shapes[i].first;
        double alone_s = seconds_alone(shapes, n_shapes, &shapes[i]);
        if (sample->variant != VARIANT_SHARED || !(alone_s > 0) || sample->bytes == 0 || sample->count == 0)
            continue;
        double across = (double)sample->n * (double)sample->count * (double)sample->bytes;
        l[found->compared++] = across;
        if (shapes[i].seconds < SHARING * alone_s)
            continue;
        slowed_l[n_slowed] = across;
        count_over_l[n_slowed] = (double)sample->count / across;
        seconds_over_l[n_slowed++] = shapes[i].seconds / across;
        found->n_samples += shapes[i].n_samples;
    }
    found->measured = n_shapes > 0;
    found->slowed = n_slowed;
    found->link_seen = result == 0 && sees_link(l, found->compared, slowed_l, n_slowed);
    found->fitted =
        found->link_seen && fit_delta(count_over_l, seconds_over_l, n_slowed, &found->tau, &found->delta) == 0;
    free(l);
    free(slowed_l);
    free(shapes);
    free(count_over_l);
    free(seconds_over_l);
    return result;
}

static int estimate(const struct samples *samples, const struct fit_options *options, const void *context,
                    double *values)
{
    (void)context;
    struct finding found;
    if (find(samples, options, &found) != 0 || !found.fitted)
        return -1;
    values[0] = found.delta.value;
    return 0;
}

int fit_contention(const struct samples *samples, const struct fit_options *options, struct machine *machine,
                   FILE *notes, struct error *error)
{
    struct finding found;
    struct line_value *const delta = &found.delta;
    int result = find(samples, options, &found);
    if (result == 0 && found.fitted) {
        benchmark_note(notes,
                       "contention: the pairs slow each other in %zu of %zu counts and sizes: %.3g s a message and "
                       "%.4g s/B, a link of %.4g MB/s",
                       found.slowed, found.compared, found.tau.value, delta->value, 1e-6 / delta->value);
        result = launches_widen(samples, BENCHMARK_CONTENTION, estimate, options, NULL, &delta, 1);
        if (result == 0)
            result = benchmark_append(machine, LEVEL_INTER_NODE, PROTOCOL_ANY, "delta", MACHINE_NO_N, delta, "s/B",
                                      found.n_samples, "robust-shared");
    } else if (result == 0 && found.link_seen) {
        benchmark_note(notes, "contention: the time does not grow with the bytes on the link; no delta");
    } else if (result == 0 && found.compared > 0) {
        benchmark_note(
            notes,
            "contention: the pairs do not slow each other (in %zu of %zu counts and sizes only): no shared link seen",
            found.slowed, found.compared);
    } else if (result == 0 && found.measured) {
        benchmark_note(notes, "contention: no count and size was measured both alone and shared");
    }
    return result == 0 ? 0 : error_set(error, "no memory");
}

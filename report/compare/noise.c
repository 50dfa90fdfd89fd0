/* A change counts where it is more than what runs, or parts of one run, differ by anyway: comparison.h has the
 * formulas. */
#include "report/compare/comparison.h"

#include <math.h>
#include <string.h>

#include "share/base/statistics.h"

enum { LEFT = PROFILE_SPANS - 2 * NOISE_TRIMMED };
#define MOST_ALIKE 0.8 /* Largest autocorrelation that is used: 16 values do not show it better. */

static double sum(const double span_s[PROFILE_SPANS])
{
    double total = 0;
    for (size_t i = 0; i < PROFILE_SPANS; i++)
        total += span_s[i];
    return total;
}

static double student(double probability, double freedom)
{
    return student_quantile(probability / 2, freedom);
}

/* Returns the correlation of each difference with the next. */
static double autocorrelation(const double difference_s[PROFILE_SPANS])
{
    double mean = mean_of(difference_s, PROFILE_SPANS), products = 0, squares = pow(difference_s[0] - mean, 2);
    for (size_t i = 1; i < PROFILE_SPANS; i++) {
        products += (difference_s[i - 1] - mean) * (difference_s[i] - mean);
        squares += pow(difference_s[i] - mean, 2);
    }
    return products / squares;
}

/* Returns the trimmed mean of the differences, times the spans, and the standard error of that. */
static double trimmed(const double difference_s[PROFILE_SPANS], double *error_s)
{
    double sorted[PROFILE_SPANS], variance;
    memcpy(sorted, difference_s, sizeof sorted);
    sort_doubles(sorted, PROFILE_SPANS);
    double mean = mean_of(sorted + NOISE_TRIMMED, LEFT);
    for (size_t i = 0; i < NOISE_TRIMMED; i++) {
        sorted[i] = sorted[NOISE_TRIMMED];
        sorted[PROFILE_SPANS - 1 - i] = sorted[PROFILE_SPANS - 1 - NOISE_TRIMMED];
    }
    variance = variance_of(sorted, PROFILE_SPANS);
    double alike = variance > 0 ? autocorrelation(difference_s) : 0;
    alike = isfinite(alike) ? fmin(fmax(alike, 0), MOST_ALIKE) : 0;
    double share = (double)LEFT / PROFILE_SPANS;
    *error_s = sqrt(variance * PROFILE_SPANS * (1 + alike) / (1 - alike)) / share;
    return mean * PROFILE_SPANS;
}

static void compare_two(const struct noise_sample *a, const struct noise_sample *b, size_t groups, double probability,
                        struct noise_result *result)
{
    double difference_s[PROFILE_SPANS], error_s;
    for (size_t i = 0; i < PROFILE_SPANS; i++)
        difference_s[i] = b->span_s[i] - a->span_s[i];
    result->steady_s = trimmed(difference_s, &error_s);
    double freedom = (double)groups - 2 * NOISE_TRIMMED - 1;
    result->noise_s = fmax(a->floor_s, b->floor_s) + student(probability, freedom) * error_s;
    result->above = fabs(result->change_s) > result->noise_s && fabs(result->steady_s) > result->noise_s &&
                    (result->steady_s > 0) == (result->change_s > 0);
}

/* Adds up the squared deviations of a group's runs from their mean. */
static double deviations(const struct noise_sample *samples, size_t n, double mean_s)
{
    double total = 0;
    for (size_t i = 0; i < n; i++)
        if (samples[i].present)
            total += pow(sum(samples[i].span_s) - mean_s, 2);
    return total;
}

static void compare_groups(const struct noise_sample *samples, size_t n_a, size_t n_b, double runs_a, double runs_b,
                           double probability, struct noise_result *result)
{
    double floor_s = 0;
    for (size_t i = 0; i < n_a + n_b; i++)
        floor_s = fmax(floor_s, samples[i].floor_s);
    double freedom = runs_a + runs_b - 2;
    double squares = deviations(samples, n_a, result->a_s) + deviations(samples + n_a, n_b, result->b_s);
    double variance = (squares + NOISE_PRESUMED * floor_s * floor_s / 4) / (freedom + NOISE_PRESUMED);
    result->noise_s = student(probability, freedom + NOISE_PRESUMED) * sqrt(variance * (1 / runs_a + 1 / runs_b));
    result->above = fabs(result->change_s) > result->noise_s;
}

/* Returns the mean over those that have the quantity, NaN for none. */
static double group_mean(const struct noise_sample *samples, size_t n, double *runs)
{
    double total = 0;
    *runs = 0;
    for (size_t i = 0; i < n; i++)
        if (samples[i].present) {
            total += sum(samples[i].span_s);
            *runs += 1;
        }
    return *runs > 0 ? total / *runs : NAN;
}

struct noise_result noise_compare(const struct noise_sample *samples, size_t n_a, size_t n_b, size_t groups,
                                  double probability)
{
    double runs_a, runs_b;
    struct noise_result result = {.noise_s = NAN, .steady_s = NAN};
    result.a_s = group_mean(samples, n_a, &runs_a);
    result.b_s = group_mean(samples + n_a, n_b, &runs_b);
    result.change_s = result.b_s - result.a_s;
    if (!isfinite(result.change_s))
        return result;
    if (n_a == 1 && n_b == 1 && groups >= PROFILE_FEW_CALLS)
        compare_two(&samples[0], &samples[1], groups, probability, &result);
    else if (n_a + n_b > 2 && runs_a + runs_b > 2)
        compare_groups(samples, n_a, n_b, runs_a, runs_b, probability, &result);
    return result;
}

/* Every part of the tool that reduces samples uses these, so that a median is the same number everywhere. Means and
 * variances follow Welford's recurrence in long double; beta and gamma functions are the usual continued fractions and
 * series (Abramowitz and Stegun 26.5.8, 6.5.29, 6.5.31). */
#include "share/base/statistics.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "share/base/memory.h"
#include "share/base/order.h"

/* Samples from which on the normal distribution replaces the binomial, whose 2^-n nears the smallest double. */
enum { NORMAL_FROM = 1000 };

#define COMPARE_AS(type, left, right) ORDER(*(const type *)(left), *(const type *)(right))

static int compare_doubles(const void *left, const void *right)
{
    return COMPARE_AS(double, left, right);
}

int compare_u32(const void *left, const void *right)
{
    return COMPARE_AS(uint32_t, left, right);
}

int compare_u64(const void *left, const void *right)
{
    return COMPARE_AS(uint64_t, left, right);
}

int compare_sizes(const void *left, const void *right)
{
    return COMPARE_AS(size_t, left, right);
}

void sort_doubles(double *values, size_t n)
{
    if (n > 1)
        qsort(values, n, sizeof *values, compare_doubles);
}

double sorted_median(const double *sorted, size_t n)
{
    return n == 0 ? 0 : n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double sorted_quantile(const double *sorted, size_t n, double share)
{
    if (n == 0)
        return 0;
    double place = share * (double)(n - 1);
    size_t below = (size_t)place;
    double part = place - (double)below;
    return below + 1 < n ? (1 - part) * sorted[below] + part * sorted[below + 1] : sorted[n - 1];
}

/* Returns the largest k with P(Binomial(n, 1/2) < k) <= 0.025; 0 if there is none. */
static size_t low_rank(size_t n)
{
    if (n >= NORMAL_FROM)
        return (size_t)floor((double)n / 2 - 1.96 * sqrt((double)n) / 2);
    double probability = ldexp(1, -(int)n), below = probability; /* probability of 0, and of less than k */
    size_t k = 0;
    while (below <= 0.025) {
        k++;
        probability *= (double)(n - k + 1) / (double)k;
        below += probability;
    }
    return k;
}

bool sorted_median_interval(const double *sorted, size_t n, double *low, double *high)
{
    size_t k = n > 0 ? low_rank(n) : 0;
    if (k == 0)
        return false;
    *low = sorted[k - 1];
    *high = sorted[n - k];
    return true;
}

static void swap(double *values, size_t i, size_t j)
{
    double kept = values[i];
    values[i] = values[j];
    values[j] = kept;
}

/* Puts the value of place `at` there, smaller ones before it and larger ones behind it (Hoare's quickselect). */
static double select_value(double *values, size_t n, size_t at)
{
    for (size_t first = 0, last = n - 1; first < last;) {
        double pivot = values[first + (last - first) / 2];
        size_t i = first, j = last;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (pivot < values[j])
                j--;
            if (i >= j)
                break;
            swap(values, i++, j--);
        }
        if (at <= j)
            last = j;
        else
            first = j + 1;
    }
    return values[at];
}

double unsorted_median(double *values, size_t n)
{
    double above = select_value(values, n, n / 2), below = values[0];
    if (n % 2 == 1)
        return above;
    for (size_t i = 1; i < n / 2; i++)
        below = values[i] > below ? values[i] : below;
    return (below + above) / 2;
}

static long double long_mean(const double *values, size_t n)
{
    long double mean = 0;
    for (size_t i = 0; i < n; i++)
        mean += (values[i] - mean) / (long double)(i + 1);
    return mean;
}

double mean_of(const double *values, size_t n)
{
    return (double)long_mean(values, n);
}

double variance_of(const double *values, size_t n)
{
    long double mean = (double)long_mean(values, n), variance = 0;
    for (size_t i = 0; i < n; i++) {
        long double off = values[i] - mean;
        variance += (off * off - variance) / (long double)(i + 1);
    }
    return n > 1 ? (double)variance * ((double)n / (double)(n - 1)) : 0;
}

struct weighted_line weighted_line_fit(const double *x, const double *y, const double *weight, size_t n)
{
    double sum = 0, mean_x = 0, mean_y = 0, xx = 0, xy = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(weight[i] > 0))
            continue;
        sum += weight[i];
        mean_x += (x[i] - mean_x) * (weight[i] / sum);
        mean_y += (y[i] - mean_y) * (weight[i] / sum);
    }
    sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(weight[i] > 0))
            continue;
        double dx = x[i] - mean_x, dy = y[i] - mean_y;
        sum += weight[i];
        xx += (dx * dx - xx) * (weight[i] / sum);
        xy += (dx * dy - xy) * (weight[i] / sum);
    }
    double slope = xy / xx;
    for (size_t i = 0; i < n; i++) {
        double off = y[i] - mean_y - slope * (x[i] - mean_x);
        squares += weight[i] > 0 ? weight[i] * off * off : 0;
    }
    return (struct weighted_line){.intercept = mean_y - slope * mean_x,
                                  .slope = slope,
                                  .var_intercept = 1 / sum * (1 + mean_x * mean_x / xx),
                                  .var_slope = 1 / (sum * xx),
                                  .covariance = -mean_x / (sum * xx),
                                  .sum_of_squares = squares};
}

/* Standard deviations beyond which a residual does not count: 95 % efficiency where all are normally distributed. */
#define BISQUARE_TUNE 4.685
enum { ROBUST_STEPS = 100 };

/* A robust fit under way. Each residual counts divided by sqrt(1 - h), h its point's leverage, as a point far out
 * draws the line towards it. */
struct robust {
    const double *x, *y; /* [n]; x NULL: a constant */
    size_t n, n_parameters;
    double *spread;   /* [n] sqrt(1 - h) */
    double *residual; /* [n] divided by spread */
    double *weight;   /* [n] */
};

static struct weighted_line fit_weights(const struct robust *robust)
{
    if (robust->x != NULL)
        return weighted_line_fit(robust->x, robust->y, robust->weight, robust->n);
    double sum = 0, mean = 0, squares = 0;
    for (size_t i = 0; i < robust->n; i++) {
        sum += robust->weight[i];
        mean += sum > 0 ? (robust->y[i] - mean) * (robust->weight[i] / sum) : 0;
    }
    for (size_t i = 0; i < robust->n; i++)
        squares += robust->weight[i] * (robust->y[i] - mean) * (robust->y[i] - mean);
    return (struct weighted_line){.intercept = mean, .var_intercept = 1 / sum, .sum_of_squares = squares};
}

static void find_residuals(struct robust *robust, const struct weighted_line *line)
{
    for (size_t i = 0; i < robust->n; i++) {
        double at = line->intercept + (robust->x != NULL ? line->slope * robust->x[i] : 0);
        robust->residual[i] = (robust->y[i] - at) / robust->spread[i];
    }
}

/* Returns the standard deviation by the median residual, without the smallest ones, which the line's parameters may
 * have made 0. */
static double median_deviation(const struct robust *robust, bool divided)
{
    double *sizes = robust->weight; /* it is set again after this */
    for (size_t i = 0; i < robust->n; i++)
        sizes[i] = fabs(robust->residual[i]) * (divided ? 1 : robust->spread[i]);
    sort_doubles(sizes, robust->n);
    return sorted_median(sizes + robust->n_parameters - 1, robust->n - robust->n_parameters + 1) / 0.6745;
}

/* Returns the variance of the residuals that a robust fit leaves, of that standard deviation by the median, and no
 * less than part of the plain fit's: Street, Carroll and Ruppert (A note on computing robust regression estimates
 * via iteratively reweighted least squares, The American Statistician 42, 1988), DuMouchel and O'Brien (Integrating
 * a robust option into a multiple regression computing environment, 1989). */
static double robust_variance(const struct robust *robust, double deviation, double plain_variance)
{
    double n = (double)robust->n, p = (double)robust->n_parameters, scale = deviation * BISQUARE_TUNE, slopes = 0,
           squares = 0;
    for (size_t i = 0; i < robust->n; i++) {
        double u = robust->residual[i] / scale, rest = fabs(u) < 1 ? 1 - u * u : 0, psi = u * rest * rest;
        slopes += (rest * rest - 4 * u * u * rest) / n;
        squares += robust->spread[i] * robust->spread[i] * psi * psi / (n - p);
    }
    double correction = 1 + p / n * (1 - slopes) / slopes;
    double variance = deviation > 0 ? pow(correction * sqrt(squares) * scale / slopes, 2) : 0;
    return fmax(variance, (p * p * plain_variance + n * variance) / (p * p + n));
}

static bool is_near(double value, double before)
{
    return fabs(value - before) <= sqrt(DBL_EPSILON) * fmax(fabs(value), fabs(before));
}

struct weighted_line robust_line_fit(const double *x, const double *y, size_t n)
{
    double *room = xcalloc(3 * n, sizeof *room);
    struct robust robust = {x, y, n, x != NULL ? 2 : 1, room, room + n, room + 2 * n};
    for (size_t i = 0; i < n; i++)
        robust.weight[i] = 1;
    struct weighted_line plain = fit_weights(&robust), line = plain, before;
    double mean_x = x != NULL ? mean_of(x, n) : 0, least = 1e-6 * sqrt(variance_of(y, n)), deviation;
    for (size_t i = 0; i < n; i++) {
        double off = x != NULL ? x[i] - mean_x : 0, leverage = 1 / (double)n + off * off * plain.var_slope;
        robust.spread[i] = sqrt(1 - fmin(leverage, 0.9999));
    }
    find_residuals(&robust, &line);
    for (int step = 0; step < ROBUST_STEPS; step++) {
        before = line;
        deviation = fmax(median_deviation(&robust, true), least > 0 ? least : 1);
        for (size_t i = 0; i < n; i++) {
            double u = robust.residual[i] / (deviation * BISQUARE_TUNE);
            robust.weight[i] = fabs(u) < 1 ? (1 - u * u) * (1 - u * u) : 0;
        }
        line = fit_weights(&robust);
        find_residuals(&robust, &line);
        if (is_near(line.intercept, before.intercept) && is_near(line.slope, before.slope))
            break;
    }
    double variance = robust_variance(&robust, median_deviation(&robust, false),
                                      plain.sum_of_squares / (double)(n - robust.n_parameters));
    line.sum_of_squares = 0;
    for (size_t i = 0; i < n; i++)
        line.sum_of_squares += pow(robust.residual[i] * robust.spread[i], 2);
    line.var_intercept = variance * plain.var_intercept;
    line.var_slope = variance * plain.var_slope;
    line.covariance = variance * plain.covariance;
    free(room);
    return line;
}

double normal_below(double x)
{
    return erfc(-x / sqrt(2)) / 2;
}

/* The continued fraction of the incomplete beta function, by Lentz; it converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), value = d;
    for (int m = 1; m < 10000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        value *= c * d;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        value *= c * d;
        if (fabs(c * d - 1) < DBL_EPSILON)
            break;
    }
    return value;
}

/* The regularised incomplete beta function I_x(a, b); y = 1 - x. */
static double beta_below(double a, double b, double x, double y)
{
    if (!(x > 0) || !(y > 0))
        return x > 0 ? 1 : 0;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, y) / b;
}

/* The regularised incomplete gamma function P(a, x). */
static double gamma_below(double a, double x)
{
    double front = exp(a * log(x) - x - lgamma(a));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (double n = a + 1; term > sum * DBL_EPSILON; n++)
            sum += term *= x / n;
        return sum * front;
    }
    double b = x + 1 - a, c = 1 / DBL_MIN, d = 1 / b, value = d;
    for (int i = 1; i < 10000; i++) {
        double an = i * (a - i);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        value *= c * d;
        if (fabs(c * d - 1) < DBL_EPSILON)
            break;
    }
    return 1 - front * value;
}

/* The probability of more than t, of Student's t; t >= 0. */
static double student_above(double t, double freedom)
{
    double all = freedom + t * t;
    return beta_below(freedom / 2, 0.5, freedom / all, t * t / all) / 2;
}

static double chi_squared_below(double x, double freedom)
{
    return gamma_below(freedom / 2, x / 2);
}

/* Returns the x > 0 at which a monotonic function has a value, by regula falsi with Illinois' remedy: an end that stays
 * counts half. */
static double invert(double (*function)(double x, double freedom), double freedom, double wanted)
{
    double low = 0, high = 1, at_low = function(DBL_MIN, freedom) - wanted, at_high = function(high, freedom) - wanted;
    while (at_low * at_high > 0 && high < 1e300) {
        low = high;
        at_low = at_high;
        high *= 2;
        at_high = function(high, freedom) - wanted;
    }
    double x = high, before = low;
    for (int moved = 0; fabs(x - before) > 2 * DBL_EPSILON * x;) {
        before = x;
        x = (low * at_high - high * at_low) / (at_high - at_low);
        double at_x = function(x, freedom) - wanted;
        if (at_x == 0)
            return x;
        if (at_x * at_high > 0) {
            high = x;
            at_high = at_x;
            at_low /= moved < 0 ? 2 : 1;
            moved = -1;
        } else {
            low = x;
            at_low = at_x;
            at_high /= moved > 0 ? 2 : 1;
            moved = 1;
        }
    }
    return x;
}

double student_quantile(double above, double freedom)
{
    return invert(student_above, freedom, above);
}

double chi_squared_quantile(double below, double freedom)
{
    return invert(chi_squared_below, freedom, below);
}

double binomial_above(unsigned k, double probability, unsigned n)
{
    return k >= n ? 0 : beta_below(k + 1.0, (double)n - k, probability, 1 - probability);
}

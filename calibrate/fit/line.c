#include "line.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_fit.h>

/* Half the width of the 95 % interval over the standard error. */
static double quantile(size_t degrees_of_freedom)
{
    return degrees_of_freedom == 0 ? NAN : gsl_cdf_tdist_Pinv(0.975, (double)degrees_of_freedom);
}

static struct line_value value_within(double value, double half_width)
{
    return (struct line_value){.value = value, .low = value - half_width, .high = value + half_width};
}

/* Weighted sum of squares over the degrees of freedom: the variance of a point of weight 1. */
static double variance(double sum_of_squares, size_t degrees_of_freedom)
{
    return degrees_of_freedom == 0 ? NAN : sum_of_squares / (double)degrees_of_freedom;
}

static int fit_through_origin(const double *x, const double *weight, const double *y, size_t n_points,
                              struct line *line)
{
    double slope, covariance, sum_of_squares;
    if (gsl_fit_wmul(x, 1, weight, 1, y, 1, n_points, &slope, &covariance, &sum_of_squares) != 0)
        return -1;
    double half = quantile(n_points - 1) * sqrt(covariance * variance(sum_of_squares, n_points - 1));
    line->slope = value_within(slope, half);
    line->intercept.value = 0;
    line->intercept.low = 0;
    line->intercept.high = fmax(line->intercept.high, 0);
    line->kind = LINE_THROUGH_ORIGIN;
    return 0;
}

/* The time does not grow with the size: no slope <= 0 is a bandwidth. The upper end of the slope's interval is the
 * least bandwidth that the points allow; the intercept follows from it. Without an interval, or where even its upper
 * end is negative, the slope from the origin to the last point is the least bandwidth that was seen. */
static int fit_flat(const double *x, const double *weight, const double *y, size_t n_points, double slope_high,
                    struct line *line)
{
    size_t last = 0;
    for (size_t i = 1; i < n_points; i++)
        if (x[i] > x[last])
            last = i;
    double seen = y[last] / x[last];
    double slope = slope_high > 0 && slope_high < seen ? slope_high : seen;
    double sum = 0, sum_weights = 0;
    for (size_t i = 0; i < n_points; i++) {
        sum += weight[i] * (y[i] - slope * x[i]);
        sum_weights += weight[i];
    }
    line->intercept.value = fmax(sum / sum_weights, 0);
    line->intercept.low = fmin(fmax(line->intercept.low, 0), line->intercept.value);
    line->intercept.high = fmax(line->intercept.high, line->intercept.value);
    line->slope = (struct line_value){.value = slope, .low = 0, .high = slope};
    line->kind = LINE_FLAT;
    return 0;
}

int line_fit(const double *x, const double *y, size_t n_points, enum line_method method, struct line *line)
{
    bool differ = false;
    for (size_t i = 0; i < n_points; i++) {
        if (!(x[i] >= 0) || !(y[i] > 0) || isinf(x[i]) || isinf(y[i]))
            return -1;
        differ = differ || x[i] != x[0]; /* exact: sizes are integers */
    }
    if (!differ)
        return -1;
    double *weight = malloc(n_points * sizeof *weight);
    if (weight == NULL)
        return -1;
    for (size_t i = 0; i < n_points; i++)
        weight[i] = method == LINE_RELATIVE ? 1 / (y[i] * y[i]) : 1;
    double intercept, slope, cov00, cov01, cov11, sum_of_squares;
    int result =
        gsl_fit_wlinear(x, 1, weight, 1, y, 1, n_points, &intercept, &slope, &cov00, &cov01, &cov11, &sum_of_squares);
    if (result == 0 && isfinite(intercept) && isfinite(slope)) {
        double point = variance(sum_of_squares, n_points - 2);
        struct line fit = {
            .intercept = value_within(intercept, quantile(n_points - 2) * sqrt(cov00 * point)),
            .slope = value_within(slope, quantile(n_points - 2) * sqrt(cov11 * point)),
            .kind = LINE_PLAIN,
        };
        if (slope <= 0)
            result = fit_flat(x, weight, y, n_points, fit.slope.high, &fit);
        else if (intercept < 0)
            result = fit_through_origin(x, weight, y, n_points, &fit);
        fit.intercept.low = fmax(fit.intercept.low, 0) + 0 * fit.intercept.low; /* NaN stays NaN */
        if (result == 0)
            *line = fit;
    } else {
        result = -1;
    }
    free(weight);
    return result;
}

/* A fit with a free intercept and slope may give what no machine has, a negative latency or bandwidth; then one of the
 * two is fixed and the other fitted again, and the result says so. */
#include "calibrate/fit/line.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/memory.h"
#include "share/base/statistics.h"

double line_quantile(size_t degrees_of_freedom)
{
    return degrees_of_freedom == 0 ? NAN : student_quantile(0.025, (double)degrees_of_freedom);
}

static struct line_value value_within(double value, double half_width)
{
    return (struct line_value){.value = value, .low = value - half_width, .high = value + half_width};
}

/* Points and weights, while a line is made. */
struct fitting {
    const double *x, *y, *weight;
    size_t n_points;
    const struct line_hint *hint;
};

/* Scatter of the points as far as it is known: few points do not show it, then the hint's value is better. */
struct scatter {
    double variance; /* that of a point of weight 1; NaN: not known */
    size_t degrees;
};

static struct scatter scatter_of(const struct fitting *fitting, double sum_of_squares, size_t degrees)
{
    const struct line_hint *hint = fitting->hint;
    if (degrees < LINE_DEGREES_MIN && degrees < hint->degrees)
        return (struct scatter){hint->variance, hint->degrees};
    return (struct scatter){degrees == 0 ? NAN : sum_of_squares / (double)degrees, degrees};
}

/* Returns half the interval of a parameter with that covariance for points of variance 1. */
static double half_width(const struct scatter *scatter, double covariance)
{
    return line_quantile(scatter->degrees) * sqrt(covariance * scatter->variance);
}

/* Returns the intercept that suits a given slope best. */
static double intercept_of(const struct fitting *fitting, double slope)
{
    double sum = 0, sum_weights = 0;
    for (size_t i = 0; i < fitting->n_points; i++) {
        sum += fitting->weight[i] * (fitting->y[i] - slope * fitting->x[i]);
        sum_weights += fitting->weight[i];
    }
    return sum / sum_weights;
}

/* Makes an interval hold its value; an end that is not known stays so. */
static void line_widen(struct line_value *value)
{
    if (value->low > value->value)
        value->low = value->value;
    if (value->high < value->value)
        value->high = value->value;
}

bool line_value_raise(struct line_value *value, const struct line_value *floor)
{
    if (!(value->value < floor->value))
        return false;
    value->value = floor->value;
    if (value->low < floor->low)
        value->low = floor->low;
    if (value->high < floor->high)
        value->high = floor->high;
    line_widen(value);
    return true;
}

static void set_intercept(struct line *line, double intercept)
{
    line->intercept.value = intercept;
    line_widen(&line->intercept);
}

/* Fits the line from (0, floor); returns -1 where it does not rise. */
static int fit_from(const struct fitting *fitting, const struct line_value *floor, struct line *line)
{
    double intercept = floor->value;
    double sum_xx = 0, sum_xy = 0, sum_of_squares = 0;
    for (size_t i = 0; i < fitting->n_points; i++) {
        sum_xx += fitting->weight[i] * fitting->x[i] * fitting->x[i];
        sum_xy += fitting->weight[i] * fitting->x[i] * (fitting->y[i] - intercept);
    }
    double slope = sum_xy / sum_xx;
    if (!(slope > 0))
        return -1;
    for (size_t i = 0; i < fitting->n_points; i++) {
        double residual = fitting->y[i] - intercept - slope * fitting->x[i];
        sum_of_squares += fitting->weight[i] * residual * residual;
    }
    struct scatter scatter = scatter_of(fitting, sum_of_squares, fitting->n_points - 1);
    line->slope = value_within(slope, half_width(&scatter, 1 / sum_xx));
    (void)line_value_raise(&line->intercept, floor);
    line->kind = intercept > 0 ? LINE_FLOOR : LINE_THROUGH_ORIGIN;
    return 0;
}

/* Fits points whose time does not grow with the size, as no slope <= 0 is a bandwidth. The upper end of the slope's
 * interval is the least bandwidth that the points allow; the intercept follows from it. Without an interval, or where
 * even its upper end is negative, the slope from the origin to the last point is the least bandwidth that was seen. */
static void fit_flat(const struct fitting *fitting, struct line *line)
{
    size_t last = 0;
    for (size_t i = 1; i < fitting->n_points; i++)
        if (fitting->x[i] > fitting->x[last])
            last = i;
    double seen = fitting->y[last] / fitting->x[last], high = line->slope.high;
    double slope = high > 0 && high < seen ? high : seen;
    set_intercept(line, fmax(intercept_of(fitting, slope), 0));
    line->slope = (struct line_value){.value = slope, .low = 0, .high = slope};
    line->kind = LINE_FLAT;
}

static void share_slope(const struct fitting *fitting, struct line *line)
{
    const struct line_hint *hint = fitting->hint;
    line->slope.value += hint->slope_share * (hint->slope - line->slope.value);
    if (hint->slope_share > 0.5)
        line->kind = LINE_SHARED;
    line_widen(&line->slope);
    set_intercept(line, intercept_of(fitting, line->slope.value));
}

static int fit_weighted(const struct fitting *fitting, struct line *line)
{
    static const struct line_value origin = {0, 0, 0};
    struct weighted_line plain = weighted_line_fit(fitting->x, fitting->y, fitting->weight, fitting->n_points);
    if (!isfinite(plain.intercept) || !isfinite(plain.slope))
        return -1;
    size_t degrees = fitting->n_points - 2;
    struct scatter scatter = scatter_of(fitting, plain.sum_of_squares, degrees);
    struct line fit = {
        .intercept = value_within(plain.intercept, half_width(&scatter, plain.var_intercept)),
        .slope = value_within(plain.slope, half_width(&scatter, plain.var_slope)),
        .kind = LINE_PLAIN,
        .sum_of_squares = plain.sum_of_squares,
        .degrees = degrees,
        .free_slope = plain.slope,
        .slope_error = sqrt(plain.var_slope * scatter.variance),
        .mean_y = intercept_of(fitting, 0),
    };
    if (fitting->hint->slope_share > 0)
        share_slope(fitting, &fit);
    if (!(fit.slope.value > 0))
        fit_flat(fitting, &fit);
    if (fit.intercept.value < fitting->hint->floor.value && fit_from(fitting, &fitting->hint->floor, &fit) != 0)
        (void)fit_from(fitting, &origin, &fit);
    if (fit.intercept.value < 0 && fit_from(fitting, &origin, &fit) != 0)
        return -1;
    fit.intercept.low = fmax(fit.intercept.low, 0) + 0 * fit.intercept.low; /* NaN stays NaN */
    *line = fit;
    return 0;
}

int line_fit(const double *x, const double *y, size_t n_points, enum line_method method, const struct line_hint *hint,
             struct line *line)
{
    static const struct line_hint nothing;
    bool differ = false;
    for (size_t i = 0; i < n_points; i++) {
        if (!(x[i] >= 0) || !(y[i] > 0) || isinf(x[i]) || isinf(y[i]))
            return -1;
        differ = differ || x[i] != x[0]; /* exact comparison: sizes are integers */
    }
    if (!differ)
        return -1;
    double *weight = xcalloc(n_points, sizeof *weight);
    for (size_t i = 0; i < n_points; i++)
        weight[i] = method == LINE_RELATIVE ? 1 / (y[i] * y[i]) : 1;
    struct fitting fitting = {
        .x = x, .y = y, .weight = weight, .n_points = n_points, .hint = hint != NULL ? hint : &nothing};
    int result = fit_weighted(&fitting, line);
    free(weight);
    return result;
}

/* Pooling makes few samples worth more, but must not hide a machine whose values really differ: the weight falls
 * gradually, by a test on the data. */
double pool_mean(const struct pool_value *values, size_t n)
{
    double sum = 0, sum_weights = 0;
    for (size_t i = 0; i < n; i++) {
        double weight = 1 / (values[i].error * values[i].error);
        sum += weight * values[i].value;
        sum_weights += weight;
    }
    return sum / sum_weights;
}

double pool_share(const struct pool_value *values, const double *expected, size_t n, size_t degrees)
{
    double chi_squared = 0;
    if (degrees == 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        double distance = (values[i].value - expected[i]) / values[i].error;
        chi_squared += distance * distance;
    }
    double ratio = chi_squared_quantile(0.99, (double)degrees) / chi_squared;
    return ratio < 1 ? ratio * ratio * ratio : 1; /* it is 1 also without any distance */
}

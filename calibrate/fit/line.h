/* Fits straight lines through measured times: intercept, slope, 95 % intervals.
 *
 * Relative least squares weighs each point with 1/y^2, so that the residuals count as fractions of the measured time
 * and the microseconds of small messages are not drowned by the milliseconds of large ones. Ordinary least squares
 * weighs all alike. The variance of the points is not known beforehand: it is estimated from the residuals, and the
 * intervals use Student's t with the degrees of freedom that are left. */
#ifndef MPISTAIR_CALIBRATE_LINE_H
#define MPISTAIR_CALIBRATE_LINE_H

#include <stdbool.h>
#include <stddef.h>

enum line_method { LINE_RELATIVE = 0, LINE_OLS };

struct line_value {
    double value;
    double low; /* 95 % interval; NaN: too few points to tell */
    double high;
};

enum line_kind {
    LINE_PLAIN = 0,
    LINE_THROUGH_ORIGIN, /* a free intercept would have been negative: it is 0 */
    LINE_FLAT,           /* a free slope would have been negative or 0: it is the upper end of its interval */
    LINE_SHARED,         /* the slope is known from elsewhere rather than from the points */
    LINE_FLOOR,          /* a free intercept would have been below what is known of it: it is that */
};

struct line {
    struct line_value intercept;
    struct line_value slope;
    enum line_kind kind;
    double sum_of_squares; /* sum over the free line's weighted residuals */
    size_t degrees;        /* degrees of freedom that the free line leaves */
    double free_slope;     /* slope of the points alone, any sign */
    double slope_error;    /* its standard error; NaN: not known */
    double mean_y;         /* weighted mean of the points */
};

/* What is known besides the points. */
struct line_hint {
    struct line_value floor; /* the intercept is at least that; 0: it is not negative */
    double slope;            /* as its neighbours have it */
    double slope_share;      /* share of it in the result, 0 to 1; the rest is the points' */
    /* Variance of a point of weight 1, from more points of the same kind. It is taken where the own degrees are fewer
     * than these and fewer than LINE_DEGREES_MIN; degrees 0 means that nothing is known. */
    double variance;
    size_t degrees;
};
enum { LINE_DEGREES_MIN = 4 };

/* Fits y = intercept + slope * x to n_points >= 2 points with at least two different x >= 0, all y > 0. The result
 * always has intercept >= 0 and slope > 0. hint may be NULL. The interval of a shared slope is that of the points
 * alone, widened to the value. Returns 0, or -1 where the points allow no such line. */
int line_fit(const double *x, const double *y, size_t n_points, enum line_method method, const struct line_hint *hint,
             struct line *line);

/* Raises value to floor where it is below, and its ends to those of floor. Returns whether it was below. */
bool line_value_raise(struct line_value *value, const struct line_value *floor);

/* Returns half the width of a 95 % interval over the standard error: Student's t. NaN for 0 degrees. */
double line_quantile(size_t degrees_of_freedom);

/* Values that should be alike: tests whether they are, and how far each is to be replaced by their mean. */
struct pool_value {
    double value;
    double error; /* its standard error > 0 */
};

/* Returns the mean of n >= 1 values, weighed by 1/error^2. */
double pool_mean(const struct pool_value *values, size_t n);

/* Returns the share of the expected value in each of n values, 0 to 1. It is 1 as long as their distances from what is
 * expected (expected[n]) are such as chance makes them: the sum of their squares over the errors' is not above the 99 %
 * quantile of chi squared with so many degrees of freedom. From there on it falls with the third power of that ratio,
 * so that values that are known well stay what they are. With 0 degrees it is 0. */
double pool_share(const struct pool_value *values, const double *expected, size_t n, size_t degrees);

#endif

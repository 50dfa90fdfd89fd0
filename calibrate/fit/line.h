/* Straight lines through measured times: intercept, slope, 95 % intervals.
 *
 * Relative least squares weighs each point with 1/y^2, so that the residuals count as fractions of the measured time
 * and the microseconds of small messages are not drowned by the milliseconds of large ones; ordinary least squares
 * weighs all alike. The variance of the points is not known beforehand: it is estimated from the residuals, and the
 * intervals use Student's t with the degrees of freedom that are left.
 */
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
};

struct line {
    struct line_value intercept;
    struct line_value slope;
    enum line_kind kind;
};

/* Fits y = intercept + slope * x to n_points >= 2 points with at least two different x >= 0, all y > 0. intercept >= 0
 * and slope > 0 always hold in the result. Returns 0, or -1 where the points allow no such line. */
int line_fit(const double *x, const double *y, size_t n_points, enum line_method method, struct line *line);

#endif

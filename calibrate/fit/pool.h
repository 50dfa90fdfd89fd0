/* Tells whether measured values that should be alike are, and how far each is to be replaced by what all say together.
 */
#ifndef MPISTAIR_CALIBRATE_POOL_H
#define MPISTAIR_CALIBRATE_POOL_H

#include <stddef.h>

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

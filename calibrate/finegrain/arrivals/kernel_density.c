/* The programs that measure link no GSL, so that the two statistics stand here. */
#include "calibrate/finegrain/arrivals/kernel_density.h"

#include <math.h>

/* Returns the quantile by linear interpolation between order statistics: place share (n - 1). */
static double quantile(const double *samples, size_t n, double share)
{
    double place = share * (double)(n - 1);
    size_t below = (size_t)place;
    double part = place - (double)below;
    return below + 1 < n ? samples[below] * (1 - part) + samples[below + 1] * part : samples[n - 1];
}

/* Returns the square root of the unbiased variance. */
static double deviation(const double *samples, size_t n)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += samples[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (samples[i] - mean) * (samples[i] - mean);
    return n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
}

double silverman_width(const double *samples, size_t n)
{
    if (samples[0] == samples[n - 1])
        return 0;
    double spread = deviation(samples, n), range = quantile(samples, n, 0.75) - quantile(samples, n, 0.25);
    if (range > 0)
        spread = fmin(spread, range / 1.34);
    return 0.9 * spread * pow((double)n, -0.2);
}

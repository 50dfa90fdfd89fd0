/* Says how wide the kernels of a density estimate are that stands on measured times. */
#ifndef MPISTAIR_CALIBRATE_KERNEL_DENSITY_H
#define MPISTAIR_CALIBRATE_KERNEL_DENSITY_H

#include <stddef.h>

/* Returns Silverman's width of samples[n] in increasing order, n at least 1: 0.9 min(s, R / 1.34) n^(-1/5) with
 * standard deviation s and interquartile range R (Silverman, Density Estimation for Statistics and Data Analysis, 1986,
 * eq. 3.31).
 * Where more than half of the samples are the same, R is 0 and s stands alone. 0: all are the same. */
double silverman_width(const double *samples, size_t n);

#endif

/* Statistics of samples: order, median and its interval, quantiles, variance, a weighted line, and the distributions
 * that intervals need. */
#ifndef MPISTAIR_BASE_STATISTICS_H
#define MPISTAIR_BASE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* Compare two uint32_t, uint64_t or size_t, for qsort and bsearch. */
int compare_u32(const void *left, const void *right);
int compare_u64(const void *left, const void *right);
int compare_sizes(const void *left, const void *right);
void sort_doubles(double *values, size_t n);

/* The middle value of sorted[n], or the mean of the two in the middle; 0 for n = 0. */
double sorted_median(const double *sorted, size_t n);
/* The quantile of sorted[n] at share (0 to 1), interpolated between neighbours at place share (n - 1); 0 for n = 0. */
double sorted_quantile(const double *sorted, size_t n, double share);
/* The 95 % interval of the median: the order statistics between which it lies by the binomial distribution, whatever
 * that of the samples. Returns false, and sets nothing, below 6 samples. */
bool sorted_median_interval(const double *sorted, size_t n, double *low, double *high);

/* The median of values[n], which it reorders, in linear time. n > 0. */
double unsorted_median(double *values, size_t n);
double mean_of(const double *values, size_t n);
/* The unbiased variance; 0 below 2 values. */
double variance_of(const double *values, size_t n);

/* A line y = intercept + slope x by weighted least squares. */
struct weighted_line {
    double intercept, slope;
    double var_intercept, var_slope, covariance; /* for points whose variance is 1 / weight */
    double sum_of_squares;                       /* weighted residuals */
};
/* Fits x[n], y[n], weight[n]. At least two x must differ, else the members are not finite. */
struct weighted_line weighted_line_fit(const double *x, const double *y, const double *weight, size_t n);

/* Fits x[n], y[n], n >= 3, robustly: bisquare weights ignore outliers. x NULL fits a constant, with slope 0. Variances
 * are those of intercept and slope; sum_of_squares is over all residuals. */
struct weighted_line robust_line_fit(const double *x, const double *y, size_t n);

/* Probability that a standard normal variable is below x. */
double normal_below(double x);
/* Student's t: the value that is exceeded with the given probability (0 to 0.5), freedom > 0. */
double student_quantile(double above, double freedom);
/* Chi squared: the value that is not reached with the given probability, freedom > 0. */
double chi_squared_quantile(double below, double freedom);
/* Probability of more than k successes in n trials. */
double binomial_above(unsigned k, double probability, unsigned n);

#endif

/* Pooling makes few samples worth more, but must not hide a machine whose values really differ: the weight falls
 * gradually, by a test on the data. */
#include "calibrate/fit/pool.h"

#include <gsl/gsl_cdf.h>

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
    double ratio = gsl_cdf_chisq_Pinv(0.99, (double)degrees) / chi_squared;
    return ratio < 1 ? ratio * ratio * ratio : 1; /* it is 1 also without any distance */
}

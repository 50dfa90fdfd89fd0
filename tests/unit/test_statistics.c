/* Statistics by hand, against naive ones, and against tables of the distributions. */
#include "share/base/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * fmax(1e-9, fabs(expected))))
        fail_msg("%.17g instead of %.17g", value, expected);
}

static void medians(void **state)
{
    (void)state;
    static const double sorted[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    double low = 0, high = 0;
    near(sorted_median(sorted, 9), 5);
    near(sorted_median(sorted, 8), 4.5);
    near(sorted_median(sorted, 1), 1);
    near(sorted_median(sorted, 0), 0);
    assert_false(sorted_median_interval(sorted, 5, &low, &high));
    assert_true(sorted_median_interval(sorted, 9, &low, &high));
    near(low, 2);
    near(high, 8);
}

static void unsorted_medians_are_those_of_sorted_values(void **state)
{
    (void)state;
    unsigned short random[3] = {1, 2, 3};
    for (size_t n = 1; n < 400; n++) {
        double values[400], sorted[400];
        for (size_t i = 0; i < n; i++)
            values[i] = (double)(nrand48(random) % (long)(1 + n / 2)); /* many are equal */
        memcpy(sorted, values, n * sizeof *values);
        sort_doubles(sorted, n);
        near(unsorted_median(values, n), sorted_median(sorted, n));
        sort_doubles(values, n);
        assert_memory_equal(values, sorted, n * sizeof *values);
    }
}

static void quantiles(void **state)
{
    (void)state;
    static const double sorted[] = {1, 2, 4, 8, 16};
    near(sorted_quantile(sorted, 5, 0), 1);
    near(sorted_quantile(sorted, 5, 0.5), 4);
    near(sorted_quantile(sorted, 5, 0.875), 12);
    near(sorted_quantile(sorted, 5, 1), 16);
    near(sorted_quantile(sorted, 0, 0.5), 0);
}

static void moments(void **state)
{
    (void)state;
    static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    near(mean_of(values, 8), 5);
    near(variance_of(values, 8), 32.0 / 7);
    near(variance_of(values, 1), 0);
}

static void a_weighted_line(void **state)
{
    (void)state;
    /* The last point has no weight. Without it x has mean 2 and variance 2/3; the residuals are 1/6, -1/3, 1/6. */
    static const double x[] = {1, 2, 3, 9}, y[] = {1, 2, 4, 0}, weight[] = {1, 1, 1, 0};
    struct weighted_line line = weighted_line_fit(x, y, weight, 4);
    near(line.slope, 1.5);
    near(line.intercept, 7.0 / 3 - 3);
    near(line.sum_of_squares, 1.0 / 6);
    near(line.var_slope, 0.5);
    near(line.var_intercept, 7.0 / 3);
    near(line.covariance, -1);
}

static void a_robust_line_leaves_out_what_is_far_off(void **state)
{
    (void)state;
    double x[20], y[20];
    for (int i = 0; i < 20; i++) {
        x[i] = i;
        y[i] = 3 + 2 * i + (i % 2 == 0 ? 0.01 : -0.01);
    }
    y[7] = 100;
    struct weighted_line line = robust_line_fit(x, y, 20);
    assert_true(fabs(line.slope - 2) < 1e-3 && fabs(line.intercept - 3) < 0.01);
    for (int i = 0; i < 20; i++)
        y[i] = i == 3 ? 50 : 5 + (i % 2 == 0 ? 0.01 : -0.01);
    line = robust_line_fit(NULL, y, 20);
    assert_true(fabs(line.intercept - 5) < 0.01);
    near(line.slope, 0);
}

static void distributions(void **state)
{
    (void)state;
    near(normal_below(0), 0.5);
    near(normal_below(-1.959963984540054), 0.025);
    near(student_quantile(0.025, 1), 12.706204736174694);
    near(student_quantile(0.025, 2), 4.302652729749462);
    near(student_quantile(0.025, 5), 2.570581835636314);
    near(student_quantile(0.025, 30), 2.042272456301238);
    near(student_quantile(0.0005, 9.5), 4.6772752379502167);
    near(chi_squared_quantile(0.99, 1), 6.634896601021214);
    near(chi_squared_quantile(0.99, 10), 23.209251158954356);
    near(chi_squared_quantile(0.99, 1000), 1106.9689943522174);
    near(binomial_above(0, 0.5, 3), 0.875);
    near(binomial_above(2, 0.25, 4), 0.05078125);
    near(binomial_above(4, 0.25, 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians),
        cmocka_unit_test(unsorted_medians_are_those_of_sorted_values),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(moments),
        cmocka_unit_test(a_weighted_line),
        cmocka_unit_test(distributions),
        cmocka_unit_test(a_robust_line_leaves_out_what_is_far_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

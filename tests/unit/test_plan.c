/* Tests plan.h: the arithmetic of a schedule. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "calibrate/measure/plan.h"
#include "share/base/statistics.h"

#include <cmocka.h> /* last: it defines fail as a macro */

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g, expected %.17g", value, expected);
}

/* The ranks of the 95 % interval of a median are in tables of the sign test (two-sided, 5 %). */
static void interval_ranks(void **state)
{
    (void)state;
    static const struct {
        size_t n, low; /* 1-based; the upper rank is n + 1 - low */
    } cases[] = {{6, 1}, {7, 1}, {8, 1}, {9, 2}, {10, 2}, {12, 3}, {15, 4}, {20, 6}, {25, 8}, {50, 18}, {100, 40}};
    double sorted[2000], low, high;
    for (size_t i = 0; i < 2000; i++)
        sorted[i] = (double)(i + 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t n = cases[i].n;
        assert_true(sorted_median_interval(sorted, n, &low, &high));
        if ((size_t)low != cases[i].low || (size_t)high != n + 1 - cases[i].low)
            fail_msg("n = %zu: %g to %g", n, low, high);
    }
    for (size_t n = 0; n < 6; n++)
        assert_false(sorted_median_interval(sorted, n, &low, &high));
    /* Exact and normal meet. */
    double low_normal;
    assert_true(sorted_median_interval(sorted, 999, &low, &high));
    assert_true(sorted_median_interval(sorted, 1000, &low_normal, &high));
    assert_true(fabs(low - low_normal) <= 1);
    assert_true(high < 1000 && high > 500);
}

/* For 2000 series of skewed values the interval holds the median in 95 % or more. */
static void interval_holds_median(void **state)
{
    (void)state;
    enum { SERIES = 2000, VALUES = 15 };
    uint64_t random = 42;
    int held = 0;
    for (int series = 0; series < SERIES; series++) {
        struct point point = {.n = 0};
        for (int i = 0; i < VALUES; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            double uniform = ((double)(random >> 11) + 0.5) / 9007199254740992.0;
            point_add(&point, -log(uniform));
        }
        double low, high;
        assert_true(sorted_median_interval(point.seconds, point.n, &low, &high));
        held += low <= log(2) && log(2) <= high;
        point_release(&point);
    }
    if (held < SERIES * 95 / 100)
        fail_msg("%d of %d", held, SERIES);
}

static void medians_and_widths(void **state)
{
    (void)state;
    static const double sorted[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    near(sorted_median(sorted, 9), 5, 0);
    near(sorted_median(sorted, 8), 4.5, 0);
    near(sorted_median(sorted, 1), 1, 0);
    near(plan_half_width(sorted, 9), 0.6, 1e-15); /* 2 to 8 */
    assert_true(isinf(plan_half_width(sorted, 5)));
    static const double zeros[9] = {0};
    assert_true(isinf(plan_half_width(zeros, 9)));
}

static void repeats(void **state)
{
    (void)state;
    static const struct {
        double repetition_s;
        int batch, max, repeats;
    } cases[] = {
        {1e-6, 1, 8192, 1000},   /* 1 ms */
        {1e-7, 1, 8192, 8192},   /* as many as allowed */
        {2e-3, 1, 8192, 1},      /* one is longer */
        {5, 1, 8192, 1},         /* a very slow network */
        {1e-6, 256, 8192, 1024}, /* whole batches */
        {1e-8, 256, 1000, 768},  /* whole batches up to the maximum */
        {5e-4, 10, 8192, 10},    /* a batch is longer */
        {0.1, 10, 8192, 5},      /* a batch would last 1 s */
        {1e-6, 0, 0, 1},         /* never none */
        {1e-6, 16, 1, 1},        /* the benchmark allows one */
        {1e-9, 1, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int planned = plan_repeats(cases[i].repetition_s, cases[i].batch, cases[i].max);
        if (planned != cases[i].repeats)
            fail_msg("case %zu: %d, expected %d", i, planned, cases[i].repeats);
    }
}

static void gaps(void **state)
{
    (void)state;
    near(plan_gap_s(1e-3, 5e-3), 5e-3 / 3, 1e-12);
    near(plan_gap_s(0, 5e-3), 5e-3 / 3, 1e-12);
    near(plan_gap_s(2e-3, 5e-3), 5e-3, 1e-12);
    for (double sample_s = 1e-4; sample_s < 1; sample_s *= 1.1)
        assert_true(plan_gap_s(sample_s, 5e-3) > 1.1 * sample_s);
}

static void minimum(void **state)
{
    (void)state;
    enum { N = 10 };
    double cost_s[N];
    size_t samples[N];
    for (size_t i = 0; i < N; i++)
        cost_s[i] = i == 0 ? 1 : 0.01; /* one on a slow network */
    plan_minimum(cost_s, N, 100, samples);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(samples[i], PLAN_SAMPLES);
    /* 9 cheap items take 1.08 s, what is left buys 5 of the dear one. */
    plan_minimum(cost_s, N, 6.5, samples);
    assert_int_equal(samples[0], 5);
    for (size_t i = 1; i < N; i++)
        assert_int_equal(samples[i], PLAN_SAMPLES);
    /* Nothing is enough: there are three each. */
    plan_minimum(cost_s, N, 0.001, samples);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(samples[i], PLAN_SAMPLES_SHORT);
    plan_minimum(cost_s, N, -1, samples);
    assert_int_equal(samples[0], PLAN_SAMPLES_SHORT);
    plan_minimum(cost_s, 0, 1, samples);
}

static void points(void **state)
{
    (void)state;
    struct point point = {.cost_s = 2};
    for (int i = 0; i < 11; i++)
        point_add(&point, i % 2 == 0 ? 1.01 : 1);
    assert_false(point_is_done(&point)); /* known well, from too few */
    near(point_needed_s(&point), 2, 1e-12);
    point_add(&point, 5); /* one outlier does not matter */
    assert_true(point_is_done(&point));
    near(point_needed_s(&point), 0, 0);
    for (size_t i = 1; i < point.n; i++)
        assert_true(point.seconds[i - 1] <= point.seconds[i]);
    point_remove(&point, 5);   /* was disturbed: lacks again, so that the schedule visits it */
    point_remove(&point, 0.5); /* is not there */
    assert_int_equal(point.n, 11);
    assert_false(point_is_done(&point));
    point_remove(&point, 1);
    assert_true(point.n == 10 && point.seconds[3] < 1.005 && point.seconds[4] > 1.005);
    point_release(&point);
    point = (struct point){.cost_s = 1};
    for (int i = 0; i < 100; i++)
        point_add(&point, 1 + 0.01 * (i * 37 % 100));
    /* Ranks 40 to 61 of 1.00 ... 1.99 give 0.105 / 1.495 = 7 %, 3.5 times too wide: 12.3 times as many samples. */
    assert_false(point_is_done(&point));
    near(point_needed_s(&point), 100 * (0.105 / 1.495 / 0.02) * (0.105 / 1.495 / 0.02) - 100, 1e-6);
    point_release(&point);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval_ranks),
        cmocka_unit_test(interval_holds_median),
        cmocka_unit_test(medians_and_widths),
        cmocka_unit_test(repeats),
        cmocka_unit_test(gaps),
        cmocka_unit_test(minimum),
        cmocka_unit_test(points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

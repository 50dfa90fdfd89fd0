/* Holds the noise of mpistair diff against values worked by hand, which the comments derive, and against scipy's. */
#include "report/compare/comparison.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-6 * fabs(expected) + 1e-12))
        fail_msg("found %.12g, expected %.12g", found, expected);
}

static struct noise_sample flat(double span_s, double floor_s)
{
    struct noise_sample sample = {.floor_s = floor_s, .present = true};
    for (int i = 0; i < PROFILE_SPANS; i++)
        sample.span_s[i] = span_s;
    return sample;
}

static void floor_alone(void **state)
{
    (void)state;
    struct noise_sample samples[2] = {flat(1, 0.8), flat(1.1, 0.5)};
    struct noise_result result = noise_compare(samples, 1, 1, 16, 0.01);
    near(result.a_s, 16);
    near(result.change_s, 1.6);
    near(result.noise_s, 0.8); /* the larger floor: the spans do not vary */
    assert_true(result.above);
    samples[0].floor_s = 1.7;
    assert_false(noise_compare(samples, 1, 1, 16, 0.01).above);
}

/* The differences are 1.3, 0.7, 1.3, ...: eight of each. The trimmed mean is 1, times 16 spans. The winsorized variance
 * is that of the values, 16 * 0.09 / 15 = 0.096; the standard error of the trimmed mean is sqrt(0.096 / 16) / 0.75,
 * times 16 spans. Neighbours differ: their autocorrelation is negative and widens nothing. scipy.stats.t.ppf(0.995, 11)
 * is 3.10580651. */
static void two_runs(void **state)
{
    (void)state;
    struct noise_sample samples[2] = {flat(5, 1), flat(6, 1)};
    for (int i = 0; i < PROFILE_SPANS; i++)
        samples[1].span_s[i] += i % 2 == 0 ? 0.3 : -0.3;
    struct noise_result result = noise_compare(samples, 1, 1, 16, 0.01);
    near(result.change_s, 16);
    near(result.noise_s, 1 + 3.10580651 * 16 * sqrt(0.096 / 16) / 0.75);
    assert_true(result.above);
}

/* As above, sorted: the first half of the run is 0.7 apart, the second 1.3. Autocorrelation at lag 1 is close to 13/16
 * and capped at 0.8, which widens the error by sqrt(1.8 / 0.2) = 3. */
static void slow_variation(void **state)
{
    (void)state;
    struct noise_sample samples[2] = {flat(5, 0), flat(6, 0)};
    for (int i = 0; i < PROFILE_SPANS; i++)
        samples[1].span_s[i] += i < PROFILE_SPANS / 2 ? -0.3 : 0.3;
    struct noise_result result = noise_compare(samples, 1, 1, 16, 0.01);
    near(result.noise_s, 3.10580651 * 3 * 16 * sqrt(0.096 / 16) / 0.75);
}

/* Two spans of B were disturbed: the sum is off, the middle of the differences is not. */
static void disturbed_spans(void **state)
{
    (void)state;
    struct noise_sample samples[2] = {flat(1, 0.1), flat(1, 0.1)};
    samples[1].span_s[3] = samples[1].span_s[9] = 20;
    struct noise_result result = noise_compare(samples, 1, 1, 16, 0.01);
    near(result.change_s, 38);
    near(result.steady_s, 0);
    assert_false(result.above);
}

static void few_calls(void **state)
{
    (void)state;
    struct noise_sample samples[2] = {flat(1, 0.1), flat(2, 0.1)};
    struct noise_result result = noise_compare(samples, 1, 1, PROFILE_FEW_CALLS - 1, 0.01);
    near(result.change_s, 16);
    assert_true(isnan(result.noise_s));
    assert_false(result.above);
    samples[1].present = false;
    assert_true(isnan(noise_compare(samples, 1, 1, 16, 0.01).b_s));
}

/* A has 16 and 17.6, B 19.2, 20.8 and 22.4. Their squared deviations are 1.28 and 5.12, presumed are 4 (0.8 / 2)^2 =
 * 0.64, of 3 + 4 degrees of freedom. scipy.stats.t.ppf(0.975, 7) is 2.36462425. */
static void groups_of_runs(void **state)
{
    (void)state;
    struct noise_sample samples[5] = {flat(1, 0.8), flat(1.1, 0.8), flat(1.2, 0.8), flat(1.3, 0.8), flat(1.4, 0.8)};
    struct noise_result result = noise_compare(samples, 2, 3, 0, 0.05);
    near(result.a_s, 16.8);
    near(result.b_s, 20.8);
    near(result.noise_s, 2.36462425 * sqrt((1.28 + 5.12 + 0.64) / 7 * (1.0 / 2 + 1.0 / 3)));
    assert_true(result.above);
}

static void spans_of_calls(void **state)
{
    (void)state;
    double values[64], span_s[PROFILE_SPANS], few[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int i = 0; i < 64; i++)
        values[i] = i % 4 == 0 ? 1 : 100; /* the fastest of each four counts for all of them */
    profile_spans(values, 64, span_s);
    near(span_s[0], 4);
    near(span_s[15], 4);
    profile_spans(few, 8, span_s); /* each call is two spans */
    near(span_s[0], 0.5);
    near(span_s[1], 0.5);
    near(span_s[15], 4);
    profile_spans(NULL, 0, span_s);
    near(span_s[7], 0);
}

static void kinds_of_functions(void **state)
{
    (void)state;
    static const struct {
        const char *function;
        enum report_activity_kind kind;
    } cases[] = {
        {"MPI_Isend", SPENT_MESSAGES},
        {"MPI_Ibsend", SPENT_MESSAGES},
        {"MPI_Sendrecv_c", SPENT_MESSAGES},
        {"MPI_Waitall", SPENT_MESSAGES},
        {"MPI_Irecv", SPENT_MESSAGES},
        {"MPI_Ibcast", SPENT_COLLECTIVES},
        {"MPI_Ireduce", SPENT_COLLECTIVES},
        {"MPI_Allgatherv", SPENT_COLLECTIVES},
        {"MPI_Iallreduce", SPENT_COLLECTIVES},
        {"MPI_Reduce_scatter", SPENT_COLLECTIVES},
        {"MPI_Reduce_local", SPENT_OTHER},
        {"MPI_Get", SPENT_ONE_SIDED},
        {"MPI_Get_count", SPENT_OTHER},
        {"MPI_Get_accumulate", SPENT_ONE_SIDED},
        {"MPI_Win_fence", SPENT_ONE_SIDED},
        {"MPI_File_write_all", SPENT_FILES},
        {"MPI_Init", SPENT_OTHER},
        {"end", SPENT_OTHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (activity_kind(cases[i].function) != cases[i].kind)
            fail_msg("%s is of kind '%s', expected '%s'", cases[i].function,
                     report_activity_name[activity_kind(cases[i].function)], report_activity_name[cases[i].kind]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floor_alone),     cmocka_unit_test(two_runs),           cmocka_unit_test(slow_variation),
        cmocka_unit_test(disturbed_spans), cmocka_unit_test(few_calls),          cmocka_unit_test(groups_of_runs),
        cmocka_unit_test(spans_of_calls),  cmocka_unit_test(kinds_of_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

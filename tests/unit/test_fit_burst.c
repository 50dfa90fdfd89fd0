/* Tests the bucket of a shaped network, fitted to made samples: its size comes back; a plain wire, noise, and times
 * that grow faster than the bytes give no row. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fits.h"
#include "tests/unit/fitted.h"

#include <cmocka.h> /* last: it defines fail as a macro */

#define TAU_S  50e-6
#define BYTE_S 80e-9 /* time of a byte on the wire: 100 Mbit/s */
#define FAST   10    /* a bucket passes so many bytes in the time of one */
enum { SAMPLES = 8 };

static const uint64_t sizes[] = {262144, 1048576};

static const double quiet[SAMPLES] = {1, 0.999, 1.001, 1, 0.998, 1.002, 1, 1};
static const double uneven[SAMPLES] = {1, 0.98, 1.02, 0.98, 1.02, 1, 0.99, 1.01};
static const double noisy[SAMPLES] = {1, 0.6, 1.5, 0.7, 1.3, 0.9, 1.1, 1.2};

static void append(struct samples *samples, enum variant variant, uint64_t bytes, double seconds,
                   const double scatter[SAMPLES], int n)
{
    for (int i = 0; i < n; i++) {
        const struct sample sample = {.benchmark = BENCHMARK_BURST,
                                      .variant = (uint8_t)variant,
                                      .level = LEVEL_INTER_NODE,
                                      .n = 1,
                                      .bytes = bytes,
                                      .count = 1,
                                      .launch = 1,
                                      .seconds = scatter[i] * seconds};
        samples_append(samples, &sample);
    }
}

/* Returns what so many bytes take behind a rest that has filled the bucket. */
static double rested_s(double bytes, double bucket_bytes)
{
    return TAU_S + fmax(BYTE_S / FAST * bytes, BYTE_S * (bytes - bucket_bytes));
}

/* Makes the samples of one size. */
static void append_size(struct samples *samples, uint64_t bytes, double bucket_bytes, const double scatter[SAMPLES],
                        int n)
{
    double seconds = rested_s((double)bytes, bucket_bytes);
    append(samples, VARIANT_RESTED, bytes, seconds, quiet, n);
    append(samples, VARIANT_STREAM, bytes, rested_s(2.0 * (double)bytes, bucket_bytes) - seconds, scatter, n);
}

static struct samples with_bucket(double bucket_bytes, const double scatter[SAMPLES])
{
    struct samples samples = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        append_size(&samples, sizes[i], bucket_bytes, scatter, SAMPLES);
    return samples;
}

static void assert_bucket(struct samples samples, double expected_bytes)
{
    char notes[256];
    struct machine machine = fitted_onto((struct machine){.name = "made"}, fit_burst, &samples, notes, sizeof notes);
    assert_string_equal(notes, "");
    assert_int_equal(machine.n_parameters, 1);
    const struct machine_parameter *row = &machine.parameters[0];
    assert_string_equal(row->quantity, "burst");
    assert_string_equal(row->unit, "B");
    assert_string_equal(row->method, "rest");
    assert_true(row->level == LEVEL_INTER_NODE && row->protocol == PROTOCOL_ANY && row->n == MACHINE_NO_N);
    assert_int_equal(row->samples, 2 * SAMPLES);
    if (!(fabs(row->value - expected_bytes) < 0.02 * expected_bytes))
        fail_msg("%g, expected %g", row->value, expected_bytes);
    assert_true(row->ci_low > 0.9 * expected_bytes && row->ci_low <= row->value && row->value <= row->ci_high &&
                row->ci_high < 1.1 * expected_bytes);
    machine_release(&machine);
}

static void assert_nothing(struct samples samples, const char *says)
{
    char notes[256];
    struct machine machine = fitted_onto((struct machine){.name = "made"}, fit_burst, &samples, notes, sizeof notes);
    if (machine.n_parameters != 0)
        fail_msg("a bucket of %g", machine.parameters[0].value);
    assert_string_equal(notes, says);
    machine_release(&machine);
}

static void buckets_show(void **state)
{
    (void)state;
    assert_bucket(with_bucket(65536, quiet), 65536 - TAU_S / BYTE_S);
    assert_bucket(with_bucket(16384, quiet), 16384 - TAU_S / BYTE_S);
    /* The smaller size passes a large bucket whole: only the larger one shows where it ends. */
    assert_bucket(with_bucket(400000, quiet), 400000 - TAU_S / BYTE_S);
    /* Where times of the larger size scatter, the smaller one tells, whether the larger does or not. */
    static const double *const scatters[] = {uneven, noisy};
    for (int i = 0; i < 2; i++) {
        struct samples samples = {0};
        append_size(&samples, sizes[0], 65536, quiet, SAMPLES);
        append_size(&samples, sizes[1], 65536, scatters[i], SAMPLES);
        assert_bucket(samples, 65536 - TAU_S / BYTE_S);
    }
}

static void no_bucket_shows(void **state)
{
    (void)state;
    assert_nothing(with_bucket(0, quiet), "");
    assert_nothing(with_bucket(4096, quiet), "");
    assert_nothing(with_bucket(30000, noisy), "");
    assert_nothing((struct samples){0}, "");
    /* Times that grow faster than the bytes, as where messages no longer fit a cache: 17 and 69 kB seem to pass. */
    struct samples samples = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        double bytes = (double)sizes[i], seconds = 1e-9 * pow(bytes, 1.05);
        append(&samples, VARIANT_RESTED, sizes[i], seconds, quiet, SAMPLES);
        append(&samples, VARIANT_STREAM, sizes[i], 1e-9 * pow(2 * bytes, 1.05) - seconds, quiet, SAMPLES);
    }
    assert_nothing(samples, "");
}

static void few_samples_are_said(void **state)
{
    (void)state;
    struct samples samples = {0};
    append(&samples, VARIANT_RESTED, sizes[0], rested_s(262144, 65536), quiet, 2);
    append(&samples, VARIANT_STREAM, sizes[0], BYTE_S * 262144, quiet, SAMPLES);
    append(&samples, VARIANT_RESTED, sizes[1], rested_s(1048576, 65536), quiet, SAMPLES);
    append(&samples, VARIANT_STREAM, sizes[1], BYTE_S * 1048576, quiet, 2);
    assert_nothing(samples,
                   "inter_node any: burst left out: no size was measured 3 times both after a rest and beyond\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_show),
        cmocka_unit_test(no_bucket_shows),
        cmocka_unit_test(few_samples_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

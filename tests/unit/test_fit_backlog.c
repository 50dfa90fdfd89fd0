/* Tests what stands before a network card, fitted to made samples: its bytes come back, each row without the other;
 * where nothing is queued, or times scatter, there is no row. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fits.h"
#include "tests/unit/fitted.h"

#include <cmocka.h> /* last: it defines fail as a macro */

#define TRIP_S       80e-6
#define BYTE_S       20e-9 /* time of a byte on the wire: 400 Mbit/s */
#define STREAM_BYTES 1835008
#define LEFT_OUT     " left out: round trips alone, those behind a stream or a stream were measured less than 3 times\n"
enum { SAMPLES = 8 };

static const double quiet[SAMPLES] = {1, 0.999, 1.001, 1, 0.998, 1.002, 1, 1};
static const double noisy[SAMPLES] = {1, 0.1, 6, 0.2, 5, 0.3, 4, 3};

static void append(struct samples *samples, enum variant variant, double seconds, const double scatter[SAMPLES], int n)
{
    for (int i = 0; i < n; i++) {
        const struct sample sample = {.benchmark = BENCHMARK_BACKLOG,
                                      .variant = (uint8_t)variant,
                                      .level = LEVEL_INTER_NODE,
                                      .n = 1,
                                      .bytes = variant == VARIANT_STREAM ? STREAM_BYTES : 8,
                                      .count = 1,
                                      .launch = 1,
                                      .seconds = scatter[i] * seconds};
        samples_append(samples, &sample);
    }
}

/* Makes samples of a card before which so many bytes of other pairs stand, and of the own one. */
static struct samples with_backlog(double other_bytes, double own_bytes)
{
    struct samples samples = {0};
    append(&samples, VARIANT_ALONE, TRIP_S, quiet, SAMPLES);
    append(&samples, VARIANT_OTHER, TRIP_S + BYTE_S * other_bytes, quiet, SAMPLES);
    append(&samples, VARIANT_OWN, TRIP_S + BYTE_S * own_bytes, quiet, SAMPLES);
    append(&samples, VARIANT_STREAM, BYTE_S * STREAM_BYTES, quiet, SAMPLES);
    return samples;
}

static void assert_row(const struct machine_parameter *row, const char *quantity, double expected_bytes)
{
    bool all = expected_bytes > STREAM_BYTES;
    assert_string_equal(row->quantity, quantity);
    assert_string_equal(row->unit, "B");
    assert_string_equal(row->method, all ? "behind-all" : "behind");
    assert_true(row->level == LEVEL_INTER_NODE && row->protocol == PROTOCOL_ANY && row->n == MACHINE_NO_N);
    assert_int_equal(row->samples, 3 * SAMPLES);
    if (!(fabs(row->value - expected_bytes) < 0.01 * expected_bytes))
        fail_msg("%s of %g, expected %g", quantity, row->value, expected_bytes);
    assert_true(all ? isnan(row->ci_low) && isnan(row->ci_high)
                    : row->ci_low > 0.95 * expected_bytes && row->ci_low <= row->value && row->value <= row->ci_high &&
                          row->ci_high < 1.05 * expected_bytes);
}

/* Fits; rows lists n quantities with the bytes that are expected of them. */
static void assert_rows(struct samples samples, int n, const char *const quantities[], const double bytes[],
                        const char *says)
{
    char notes[512];
    struct machine machine = fitted_onto((struct machine){.name = "made"}, fit_backlog, &samples, notes, sizeof notes);
    assert_string_equal(notes, says);
    assert_int_equal(machine.n_parameters, n);
    for (int i = 0; i < n; i++)
        assert_row(&machine.parameters[i], quantities[i], bytes[i]);
    machine_release(&machine);
}

static void assert_nothing(struct samples samples, const char *says)
{
    assert_rows(samples, 0, NULL, NULL, says);
}

static void backlogs_show(void **state)
{
    (void)state;
    static const char *const both[] = {"backlog", "backlog_pair"};
    assert_rows(with_backlog(90e3, 700e3), 2, both, (const double[]){90e3, 700e3}, "");
    assert_rows(with_backlog(5e3, 5e3), 2, both, (const double[]){5e3, 5e3}, "");
    /* Where the whole stream stood there, any bytes do. */
    assert_rows(with_backlog(118e3, 0.97 * STREAM_BYTES), 2, both, (const double[]){118e3, 1e15}, "");
    assert_rows(with_backlog(118e3, 1.02 * STREAM_BYTES), 2, both, (const double[]){118e3, 1e15}, "");
    assert_rows(with_backlog(118e3, 0.93 * STREAM_BYTES), 2, both, (const double[]){118e3, 0.93 * STREAM_BYTES}, "");
    /* A queue of each socket alone makes no other pair wait. */
    assert_rows(with_backlog(0, 700e3), 1, &both[1], (const double[]){700e3}, "");
    assert_rows(with_backlog(90e3, 0), 1, both, (const double[]){90e3}, "");
}

static void one_pair_shows_its_own(void **state)
{
    (void)state;
    static const char *const own[] = {"backlog_pair"};
    struct samples samples = {0};
    append(&samples, VARIANT_ALONE, TRIP_S, quiet, SAMPLES);
    append(&samples, VARIANT_OWN, TRIP_S + BYTE_S * 700e3, quiet, SAMPLES);
    append(&samples, VARIANT_STREAM, BYTE_S * STREAM_BYTES, quiet, SAMPLES);
    assert_rows(samples, 1, own, (const double[]){700e3}, "inter_node any: backlog" LEFT_OUT);
}

static void no_backlog_shows(void **state)
{
    (void)state;
    assert_nothing(with_backlog(0, 0), "");
    assert_nothing(with_backlog(3000, 3000), "");
    assert_nothing((struct samples){0}, "");
    struct samples samples = {0};
    append(&samples, VARIANT_ALONE, TRIP_S, noisy, SAMPLES);
    append(&samples, VARIANT_OTHER, 3 * TRIP_S, noisy, SAMPLES);
    append(&samples, VARIANT_OWN, 3 * TRIP_S, noisy, SAMPLES);
    append(&samples, VARIANT_STREAM, BYTE_S * STREAM_BYTES, quiet, SAMPLES);
    assert_nothing(samples, "");
}

static void few_samples_are_said(void **state)
{
    (void)state;
    static const char *const says = "inter_node any: backlog" LEFT_OUT "inter_node any: backlog_pair" LEFT_OUT;
    for (int few = 0; few < 2; few++) {
        struct samples samples = {0};
        append(&samples, VARIANT_ALONE, TRIP_S, quiet, few == 0 ? 2 : SAMPLES);
        append(&samples, VARIANT_OTHER, TRIP_S + BYTE_S * 90e3, quiet, SAMPLES);
        append(&samples, VARIANT_OWN, TRIP_S + BYTE_S * 700e3, quiet, SAMPLES);
        append(&samples, VARIANT_STREAM, BYTE_S * STREAM_BYTES, quiet, few == 1 ? 2 : SAMPLES);
        assert_nothing(samples, says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backlogs_show),
        cmocka_unit_test(one_pair_shows_its_own),
        cmocka_unit_test(no_backlog_shows),
        cmocka_unit_test(few_samples_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests fits of contention, injection and self messages: known parameters come back from made samples, and nothing
 * where nothing shows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fit_machine.h"
#include "calibrate/fit/fits.h"
#include "tests/unit/fitted.h"

#include <cmocka.h> /* last: it defines fail as a macro */

#define TAU_S   20e-6
#define DELTA   (1 / 47.8e6)
#define PROCESS 4 /* pairs of processes of a pair of nodes */

/* Draw reproducible numbers, uniform and normal. */
static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

static void append(struct samples *samples, struct sample sample, double noise, uint64_t *seed)
{
    double exact_s = sample.seconds;
    for (int i = 0; i < 10; i++) {
        sample.seconds = exact_s * (1 + noise * normal(seed));
        if (noise > 0 && uniform(seed) < 0.02)
            sample.seconds *= 10;
        samples_append(samples, &sample);
    }
}

static const struct machine_parameter *row_of(const struct machine *machine, const char *quantity)
{
    for (size_t i = 0; i < machine->n_parameters; i++)
        if (strcmp(machine->parameters[i].quantity, quantity) == 0)
            return &machine->parameters[i];
    fail_msg("no row %s", quantity);
    return NULL;
}

static struct machine fitted(fit_benchmark *fit, struct samples *samples, char *notes, size_t size)
{
    return fitted_onto((struct machine){0}, fit, samples, notes, size);
}

/* Makes samples of two pairs of nodes; what a link passes at once, free_bytes, does not wait for it. sharing is
 * T(shared) / T(alone). */
static struct samples contention(double noise, double free_bytes, double sharing, uint64_t seed)
{
    struct samples samples = {0};
    for (uint64_t bytes = 4096; bytes <= 1048576; bytes *= 4)
        for (uint32_t count = 1; count <= 64; count *= 4) {
            double across = 2. * PROCESS * (double)count * (double)bytes;
            struct sample sample = {.level = LEVEL_INTER_NODE,
                                    .benchmark = BENCHMARK_CONTENTION,
                                    .variant = VARIANT_SHARED,
                                    .n = 2 * PROCESS,
                                    .bytes = bytes,
                                    .count = count,
                                    .seconds = TAU_S * count + DELTA * fmax(across - free_bytes, 0)};
            append(&samples, sample, noise, &seed);
            sample.variant = VARIANT_ALONE;
            sample.n = PROCESS;
            sample.seconds /= sharing;
            append(&samples, sample, noise, &seed);
        }
    return samples;
}

static void delta_comes_back(void **state)
{
    (void)state;
    char notes[512];
    struct samples samples = contention(0, 0, 2, 1);
    struct machine machine = fitted(fit_contention, &samples, notes, sizeof notes);
    const struct machine_parameter *row = row_of(&machine, "delta");
    if (fabs(row->value - DELTA) > 1e-9 * DELTA)
        fail_msg("%.17g, expected %.17g", row->value, DELTA);
    assert_true(row->level == LEVEL_INTER_NODE && row->protocol == PROTOCOL_ANY && row->n == MACHINE_NO_N);
    assert_string_equal(row->unit, "s/B");
    assert_int_equal(row->samples, 200);
    machine_release(&machine);
    /* A bucket of 64 KiB takes the smallest shapes whole: they must not count. */
    samples = contention(0.02, 65536, 2, 2);
    machine = fitted(fit_contention, &samples, notes, sizeof notes);
    row = row_of(&machine, "delta");
    if (fabs(row->value - DELTA) > 0.03 * DELTA)
        fail_msg("%.17g, expected %.17g", row->value, DELTA);
    machine_release(&machine);
}

static void interval_holds_delta(void **state)
{
    (void)state;
    int inside = 0;
    for (uint64_t draw = 1; draw <= 100; draw++) {
        char notes[512];
        struct samples samples = contention(0.05, 0, 2, draw);
        struct machine machine = fitted(fit_contention, &samples, notes, sizeof notes);
        const struct machine_parameter *row = row_of(&machine, "delta");
        inside += row->ci_low <= DELTA && DELTA <= row->ci_high;
        machine_release(&machine);
    }
    if (inside < 90)
        fail_msg("delta: in %d of 100 intervals", inside);
}

static void no_shared_link_no_delta(void **state)
{
    (void)state;
    char notes[512];
    struct samples samples = contention(0.03, 0, 1, 5);
    struct machine machine = fitted(fit_contention, &samples, notes, sizeof notes);
    assert_int_equal(machine.n_parameters, 0);
    assert_non_null(strstr(notes, "no shared link seen"));
    machine_release(&machine);
    /* Some shapes slowed by chance, all of few bytes or few of many, are no link. */
    samples = contention(0, 0, 1, 5);
    for (size_t i = 0; i < samples.n_samples; i++) {
        struct sample *sample = &samples.samples[i];
        bool large = sample->bytes == 1048576 && sample->count == 64;
        if (sample->variant == VARIANT_SHARED && (sample->bytes == 4096 || large))
            sample->seconds *= 3;
    }
    machine = fitted(fit_contention, &samples, notes, sizeof notes);
    assert_int_equal(machine.n_parameters, 0);
    assert_non_null(strstr(notes, "in 5 of 20 counts and sizes only"));
    machine_release(&machine);
    /* Nothing at all is to be said about a machine where it was not measured. */
    samples = (struct samples){0};
    machine = fitted(fit_contention, &samples, notes, sizeof notes);
    assert_int_equal(machine.n_parameters, 0);
    assert_string_equal(notes, "");
    machine_release(&machine);
}

/* With one size only, latency and bytes cannot be told apart, and all is delta. */
static void one_size_is_enough(void **state)
{
    (void)state;
    char notes[512];
    uint64_t seed = 1;
    struct samples samples = {0};
    for (uint32_t count = 1; count <= 16; count *= 4)
        for (int shared = 0; shared < 2; shared++) {
            struct sample sample = {.level = LEVEL_INTER_NODE,
                                    .benchmark = BENCHMARK_CONTENTION,
                                    .variant = shared ? VARIANT_SHARED : VARIANT_ALONE,
                                    .n = shared ? 4 : 2,
                                    .bytes = 100000,
                                    .count = count,
                                    .seconds = DELTA * (shared ? 4 : 2) * 100000. * count};
            append(&samples, sample, 0, &seed);
        }
    struct machine machine = fitted(fit_contention, &samples, notes, sizeof notes);
    assert_true(fabs(row_of(&machine, "delta")->value - DELTA) < 1e-9 * DELTA);
    machine_release(&machine);
}

/* Injects by n processes of R_b each, limited to limit together; rows of the table that are there before the fit, or
 * NULL. */
static struct machine injected(double rate, double limit, uint64_t last_n, double noise, const char *protocol,
                               double threshold, char *notes, size_t size)
{
    struct samples samples = {0};
    uint64_t seed = 7;
    for (uint64_t n = 1; n <= last_n; n *= 2)
        for (uint64_t bytes = 4096; bytes <= 4194304; bytes *= 2) {
            double together = fmin((double)n * rate, limit), slow = (double)bytes < threshold ? 3 : 1;
            struct sample sample = {.level = LEVEL_INTER_NODE,
                                    .benchmark = BENCHMARK_INJECTION,
                                    .n = n,
                                    .count = 1,
                                    .bytes = bytes,
                                    .seconds = TAU_S + slow * (double)n * (double)bytes / together};
            append(&samples, sample, noise, &seed);
        }
    struct machine table = {0};
    if (protocol != NULL) {
        enum machine_protocol parsed;
        assert_int_equal(machine_parse_protocol(protocol, &parsed), 0);
        const struct line_value value = {rate, NAN, NAN}, bytes = {threshold, NAN, NAN};
        fit_row(&table, LEVEL_INTER_NODE, parsed, "bw", 1, value, 0, "");
        if (parsed == PROTOCOL_RENDEZVOUS)
            fit_row(&table, LEVEL_INTER_NODE, parsed, "threshold", MACHINE_NO_N, bytes, 0, "");
    }
    return fitted_onto(table, fit_injection, &samples, notes, size);
}

static void injection_limit_comes_back(void **state)
{
    (void)state;
    char notes[512];
    struct machine machine = injected(3e9, 8e9, 16, 0, "rendezvous", 65536, notes, sizeof notes);
    const struct machine_parameter *row = row_of(&machine, "injection");
    assert_true(fabs(row->value - 8e9) < 1e-6 * 8e9);
    assert_true(row->protocol == PROTOCOL_RENDEZVOUS && row->n == MACHINE_NO_N);
    assert_string_equal(row->method, "largest-rate");
    assert_int_equal(row->samples, 7 * 10); /* sizes below the threshold do not count */
    assert_string_equal(notes, "");
    machine_release(&machine);
    machine = injected(3e9, 8e9, 16, 0.03, "any", 0, notes, sizeof notes);
    row = row_of(&machine, "injection");
    assert_true(row->protocol == PROTOCOL_ANY && fabs(row->value - 8e9) < 0.05 * 8e9);
    assert_true(row->ci_low < row->value && row->value < row->ci_high);
    machine_release(&machine);
}

static void unreached_limit_is_a_bound(void **state)
{
    (void)state;
    char notes[512];
    struct machine machine = injected(3e9, 1e12, 8, 0.02, NULL, 0, notes, sizeof notes);
    const struct machine_parameter *row = row_of(&machine, "injection");
    assert_string_equal(row->method, "lower-bound");
    assert_true(fabs(row->value - 24e9) < 0.05 * 24e9);
    assert_non_null(strstr(notes, "not reached with 8 processes"));
    machine_release(&machine);
    machine = injected(3e9, 1e12, 1, 0, NULL, 0, notes, sizeof notes); /* one n tells no limit */
    assert_string_equal(row_of(&machine, "injection")->method, "lower-bound");
    machine_release(&machine);
}

static void self_comes_back(void **state)
{
    (void)state;
    int inside[2] = {0, 0};
    for (uint64_t draw = 1; draw <= 100; draw++) {
        struct samples samples = {0};
        char notes[512];
        uint64_t seed = draw;
        for (uint64_t bytes = 1; bytes <= 4194304; bytes *= 2) {
            struct sample sample = {.level = LEVEL_SELF,
                                    .benchmark = BENCHMARK_SELF,
                                    .n = 1,
                                    .count = 1,
                                    .bytes = bytes,
                                    .seconds = 0.4e-6 + (double)bytes / 5e9};
            append(&samples, sample, 0.05, &seed);
        }
        struct machine machine = fitted(fit_self, &samples, notes, sizeof notes);
        assert_int_equal(machine.n_parameters, 2);
        const struct machine_parameter *tau = row_of(&machine, "tau"), *bw = row_of(&machine, "bw");
        assert_true(tau->level == LEVEL_SELF && tau->protocol == PROTOCOL_ANY && bw->n == 1);
        inside[0] += tau->ci_low <= 0.4e-6 && 0.4e-6 <= tau->ci_high;
        inside[1] += bw->ci_low <= 5e9 && 5e9 <= bw->ci_high;
        machine_release(&machine);
    }
    if (inside[0] < 90 || inside[1] < 90)
        fail_msg("self: tau in %d, bw in %d of 100 intervals", inside[0], inside[1]);
}

/* The interval contains what changes between launches: every launch is off by 5 % in all of its times. */
static void interval_holds_what_launches_change(void **state)
{
    (void)state;
    int inside = 0, draws = 40;
    for (int draw = 1; draw <= draws; draw++) {
        struct samples samples = {0};
        char notes[512];
        uint64_t seed = 1000 + (uint64_t)draw;
        for (uint32_t launch = 1; launch <= 4; launch++) {
            double off = 1 + 0.05 * normal(&seed);
            for (uint64_t bytes = 1; bytes <= 4194304; bytes *= 2) {
                struct sample sample = {.level = LEVEL_SELF,
                                        .benchmark = BENCHMARK_SELF,
                                        .n = 1,
                                        .count = 1,
                                        .launch = launch,
                                        .bytes = bytes,
                                        .seconds = off * (0.4e-6 + (double)bytes / 5e9)};
                append(&samples, sample, 0.01, &seed);
            }
        }
        struct machine machine = fitted(fit_self, &samples, notes, sizeof notes);
        const struct machine_parameter *bw = row_of(&machine, "bw");
        inside += bw->ci_low <= 5e9 && 5e9 <= bw->ci_high;
        assert_true(bw->ci_high - bw->ci_low < bw->value); /* and is not just wide */
        machine_release(&machine);
    }
    if (inside < draws * 9 / 10)
        fail_msg("bw: in %d of %d intervals", inside, draws);
}

/* Four launches of a link give an interval around the value, wider than one launch's. */
static void delta_draws_launches(void **state)
{
    (void)state;
    char notes[512];
    double width[2];
    for (int several = 0; several < 2; several++) {
        struct samples all = {0};
        uint64_t seed = 11;
        for (uint32_t launch = 1; launch <= 4; launch++) {
            double off = 1 + (several ? 0.1 : 0) * normal(&seed);
            struct samples one = contention(0.01, 0, 2, seed);
            for (size_t i = 0; i < one.n_samples; i++) {
                one.samples[i].launch = several ? launch : 1;
                one.samples[i].seconds *= off;
                samples_append(&all, &one.samples[i]);
            }
            samples_release(&one);
        }
        struct machine machine = fitted(fit_contention, &all, notes, sizeof notes);
        const struct machine_parameter *row = row_of(&machine, "delta");
        assert_true(row->ci_low <= row->value && row->value <= row->ci_high && row->ci_low > 0);
        width[several] = row->ci_high - row->ci_low;
        machine_release(&machine);
    }
    assert_true(width[1] > 2 * width[0]);
}

/* The table has nothing else, and one size, which is no line. */
static void the_whole_fit_takes_them(void **state)
{
    (void)state;
    struct samples samples = {0};
    struct fit_options options = {0};
    struct machine machine = {0};
    struct error error = {""};
    struct sample sample = {.level = LEVEL_SELF, .benchmark = BENCHMARK_SELF, .n = 1, .bytes = 8, .seconds = 1e-6};
    samples_append(&samples, &sample);
    assert_int_equal(fit_machine(&samples, &options, &machine, NULL, &error), -1);
    sample.bytes = 1000008;
    sample.seconds = 1.001e-3;
    samples_append(&samples, &sample);
    assert_int_equal(fit_machine(&samples, &options, &machine, NULL, &error), 0);
    assert_int_equal(machine.n_parameters, 2);
    assert_true(fabs(row_of(&machine, "bw")->value - 1e9) < 1);
    machine_release(&machine);
    samples_release(&samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delta_comes_back),
        cmocka_unit_test(interval_holds_delta),
        cmocka_unit_test(no_shared_link_no_delta),
        cmocka_unit_test(one_size_is_enough),
        cmocka_unit_test(injection_limit_comes_back),
        cmocka_unit_test(unreached_limit_is_a_bound),
        cmocka_unit_test(self_comes_back),
        cmocka_unit_test(interval_holds_what_launches_change),
        cmocka_unit_test(delta_draws_launches),
        cmocka_unit_test(the_whole_fit_takes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

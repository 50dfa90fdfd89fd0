/* Tests that what a line's own points do not show comes from its neighbours, and thresholds from three sources: by
 * hand-made samples without noise, so that what must come out is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fit_machine.h"
#include "calibrate/fit/line.h"
#include "calibrate/fit/bootstrap.h"
#include "calibrate/fit/thresholds.h"

#include <cmocka.h> /* last: it defines fail as a macro */

static void assert_close(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.17g, expected %.17g", value, expected);
}

static void add(struct samples *samples, enum benchmark benchmark, uint64_t n, uint64_t bytes, double seconds)
{
    for (uint32_t i = 0; i < 12; i++) {
        struct sample sample = {
            .level = LEVEL_INTER_NODE,
            .benchmark = (uint8_t)benchmark,
            .n = n,
            .bytes = bytes,
            .count = 1,
            /* The scatter of 1 % is reproducible, another one at every size, and an even number on both sides. */
            .seconds = seconds * (1 + 0.01 * ((double)((i * 7 + bytes % 11) % 12) - 5.5) / 6),
        };
        samples_append(samples, &sample);
    }
}

static const struct machine_parameter *row_of(const struct machine *machine, enum machine_protocol protocol,
                                              const char *quantity, uint64_t n)
{
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        if (row->protocol == protocol && row->n == n && strcmp(row->quantity, quantity) == 0)
            return row;
    }
    fail_msg("no row %s %s", machine_protocol_name[protocol], quantity);
    return NULL;
}

static void fit(struct samples *samples, const char *thresholds, struct machine *machine, char *notes, size_t size)
{
    struct fit_options options = {.replicates = 50};
    struct error error = {""};
    memset(notes, 0, size);
    FILE *stream = fmemopen(notes, size, "w");
    assert_non_null(stream);
    assert_int_equal(fit_thresholds_parse(thresholds, &options, &error), 0);
    samples_sort(samples);
    if (fit_machine(samples, &options, machine, stream, &error) != 0)
        fail_msg("%s", error.text);
    fclose(stream);
    assert_int_equal(machine_check(machine, &error), 0);
}

/* A token bucket lets the first 64 KiB pass: the line of the shaped sizes would begin below 0. */
static void keeps_a_latency_above_that_of_smaller_messages(void **state)
{
    (void)state;
    struct samples samples = {0};
    struct machine machine = {0};
    char notes[1024];
    for (uint64_t bytes = 1; bytes <= 4194304; bytes *= 2) {
        double size = (double)bytes;
        double seconds = bytes < 16384 ? 20e-6 + size / 5e8 : 20e-6 + fmax(size - 65536, size / 8) / 5e7;
        add(&samples, BENCHMARK_PINGPONG, 1, bytes, seconds);
        add(&samples, BENCHMARK_ALGORITHM1, 2, bytes, 2 * seconds);
    }
    fit(&samples, "0,64,16384", &machine, notes, sizeof notes);
    /* The ping-pong's latency of the smaller messages is 20 us, that of two processes 40 us. */
    const struct machine_parameter *floor = row_of(&machine, PROTOCOL_EAGER, "tau", MACHINE_NO_N);
    const struct machine_parameter *tau = row_of(&machine, PROTOCOL_RENDEZVOUS, "tau", MACHINE_NO_N);
    assert_close(floor->value, 20e-6, 0.02);
    assert_true(tau->value >= floor->value && tau->value <= 1.001 * floor->value);
    assert_true(tau->ci_low > 19e-6 && tau->ci_low <= tau->value && tau->ci_high >= tau->value);
    assert_string_equal(tau->method, "relative-median-floor");
    machine_release(&machine);
    samples_release(&samples);
}

/* Times that do not grow: their slope is that of the next protocol; the interval says that they do not tell it. */
static void shares_a_slope_that_the_points_do_not_show(void **state)
{
    (void)state;
    struct samples samples = {0};
    struct machine machine = {0};
    char notes[1024];
    for (uint64_t bytes = 1; bytes <= 1048576; bytes *= 2)
        for (uint64_t n = 1; n <= 2; n++) {
            double size = (double)(n * bytes) * (bytes < 64 ? 4e-3 : 1);
            double off = (bytes * n) % 3 == 1 ? 0.98 : 1.02; /* powers of 4, and twice those */
            add(&samples, n == 1 ? BENCHMARK_PINGPONG : BENCHMARK_ALGORITHM1, n, bytes,
                off * (size / 4e9 + (bytes < 64     ? 1e-6
                                     : bytes < 8192 ? 2e-6
                                                    : 6e-6)));
        }
    fit(&samples, "0,64,8192", &machine, notes, sizeof notes);
    const struct machine_parameter *shared = row_of(&machine, PROTOCOL_SHORT, "bw", 1);
    assert_close(shared->value, row_of(&machine, PROTOCOL_EAGER, "bw", 1)->value, 1e-6);
    assert_close(shared->value, 4e9, 0.1);
    assert_string_equal(shared->method, "relative-median-shared");
    assert_true(isnan(shared->ci_high) || shared->ci_high > 1e10);
    assert_close(row_of(&machine, PROTOCOL_SHORT, "tau", MACHINE_NO_N)->value, 1e-6, 0.03);
    assert_string_equal(row_of(&machine, PROTOCOL_RENDEZVOUS, "bw", 1)->method, "relative-median");
    machine_release(&machine);
    samples_release(&samples);
}

/* By hand: values 1 and 2 with errors 0.1 and 0.2 have the mean (100 + 50)/125 = 1.2; their distances of 2 and 4 errors
 * give chi squared 20 with one degree of freedom; its 99 % quantile is 6.634897. */
static void pools_what_is_alike(void **state)
{
    (void)state;
    const struct pool_value values[] = {{1, 0.1}, {2, 0.2}}, same[] = {{1, 0.1}, {1.1, 0.2}};
    double mean = pool_mean(values, 2);
    assert_close(mean, 1.2, 1e-12);
    assert_close(pool_share(values, (double[]){mean, mean}, 2, 1), pow(6.634897 / 20, 3), 1e-5);
    mean = pool_mean(same, 2);
    assert_true(pool_share(same, (double[]){mean, mean}, 2, 1) >= 1);
    assert_true(pool_share(values, (double[]){1, 2}, 2, 0) <= 0);
}

/* Makes steps at 512 and 8192 B. */
static struct samples stepped(void)
{
    struct samples samples = {0};
    for (uint64_t bytes = 1; bytes <= 1048576; bytes *= 2)
        add(&samples, BENCHMARK_PINGPONG, 1, bytes,
            (double)bytes / 4e9 + (bytes < 512    ? 1e-6
                                   : bytes < 8192 ? 2e-6
                                                  : 6e-6));
    return samples;
}

static void add_probe(struct samples *samples, uint64_t taken_bytes, uint64_t refused_bytes)
{
    for (int refused = 0; refused < 2; refused++) {
        struct sample sample = {.level = LEVEL_INTER_NODE,
                                .benchmark = BENCHMARK_EAGER,
                                .variant = refused ? VARIANT_REFUSED : VARIANT_TAKEN,
                                .n = 1,
                                .count = 1,
                                .bytes = refused ? refused_bytes : taken_bytes,
                                .seconds = 1e-3};
        samples_append(samples, &sample);
    }
}

/* The probe comes before the MPI, the MPI before the curves; a contradiction is reported. */
static void compares_the_sources_of_a_threshold(void **state)
{
    (void)state;
    static const struct {
        uint64_t told, taken, refused;
        double used;
        const char *method, *note;
    } cases[] = {
        {0, 0, 0, 8192, "segmentation", "inter_node: rendezvous from 8192 B by segmentation\n"},
        {8192, 0, 0, 8192, "mpi_t", "inter_node: rendezvous from 8192 B by mpi_t; the MPI reports 8192 B\n"},
        {8192, 1024, 4096, 8192, "mpi_t", /* a probe that was cut off */
         "inter_node: rendezvous from 8192 B by mpi_t; the MPI reports 8192 B\n"},
        {8192, 8099, 8100, 8100, "probe",
         "inter_node: rendezvous from 8100 B by probe; the MPI reports 8192 B; the curves break at 8192 B\n"},
        {65536, 8191, 8192, 8192, "probe",
         "inter_node: rendezvous from 8192 B by probe; the MPI reports 65536 B; these differ by more than a factor of "
         "2\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct samples samples = stepped();
        struct machine machine = {0};
        char notes[1024];
        samples.told_bytes[LEVEL_INTER_NODE] = (double)cases[i].told;
        if (cases[i].refused > 0)
            add_probe(&samples, cases[i].taken, cases[i].refused);
        fit(&samples, "auto", &machine, notes, sizeof notes);
        const struct machine_parameter *threshold = row_of(&machine, PROTOCOL_RENDEZVOUS, "threshold", MACHINE_NO_N);
        assert_close(threshold->value, cases[i].used, 0);
        assert_string_equal(threshold->method, cases[i].method);
        assert_string_equal(notes, cases[i].note);
        assert_close(row_of(&machine, PROTOCOL_EAGER, "threshold", MACHINE_NO_N)->value, 512, 0);
        machine_release(&machine);
        samples_release(&samples);
    }
}

/* Times scatter, with no step: there is one protocol, however much the criterion likes a cut. */
static void finds_no_protocol_in_noise(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int draw = 0; draw < 50; draw++) {
        struct samples samples = {0};
        struct machine machine = {0};
        char notes[1024];
        for (uint64_t n = 1; n <= 8; n *= 2)
            for (uint64_t bytes = 1; bytes <= 1048576; bytes *= 2) {
                random = random * 6364136223846793005ULL + 1442695040888963407ULL;
                double noise = (double)(random >> 40) / 16777216 - 0.5; /* +- 20 %, flat */
                add(&samples, n == 1 ? BENCHMARK_PINGPONG : BENCHMARK_ALGORITHM1, n, bytes,
                    (double)n * (1e-6 + (double)bytes / 4e9) * (1 + 0.4 * noise));
            }
        fit(&samples, "auto", &machine, notes, sizeof notes);
        (void)row_of(&machine, PROTOCOL_ANY, "tau", MACHINE_NO_N);
        machine_release(&machine);
        samples_release(&samples);
    }
}

/* Replicates keep to the samples: they come from a launch that is drawn twice, never from one that is not drawn. */
static void draws_whole_launches(void **state)
{
    (void)state;
    struct samples samples = {0};
    struct curves curves;
    struct resampling resampling;
    int equal = 0, replicates = 2000;
    for (uint32_t launch = 1; launch <= 2; launch++)
        for (uint64_t bytes = 1; bytes <= 2; bytes++)
            for (int i = 0; i < 5; i++) {
                struct sample sample = {.n = 1, .bytes = bytes, .launch = launch, .seconds = launch};
                samples_append(&samples, &sample);
            }
    samples_sort(&samples);
    curves = curves_make(&samples, STATISTIC_MEDIAN);
    resampling_init(&resampling, &samples, &curves, STATISTIC_MEDIAN, 1);
    assert_int_equal(resampling.n_launches, 2);
    for (int i = 0; i < replicates; i++) {
        resampling_next(&resampling);
        const double *seconds = resampling.curves.curves[0].seconds;
        assert_close(seconds[0], seconds[1], 0); /* the launches' draw holds for all sizes */
        equal += seconds[0] < 1.25 || seconds[0] > 1.75;
    }
    /* Half of the draws have one launch twice: 1000 +- 22, here 5 sigma. */
    assert_in_range(equal, 890, 1110);
    resampling_release(&resampling);
    curves_release(&curves);
    samples_release(&samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_a_latency_above_that_of_smaller_messages),
        cmocka_unit_test(shares_a_slope_that_the_points_do_not_show),
        cmocka_unit_test(pools_what_is_alike),
        cmocka_unit_test(compares_the_sources_of_a_threshold),
        cmocka_unit_test(finds_no_protocol_in_noise),
        cmocka_unit_test(draws_whole_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

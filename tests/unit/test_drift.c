/* Tests drift.h: intervals of a machine that drifts hold what a later calibration finds; what is too disturbed is told.
 *
 * A simulated machine's speed goes up and down by 4 %, with a correlation of 30 s; a calibration of a minute takes
 * three launches of messages to oneself with 3 % of noise. In 95 % of them the speed that the machine has on average
 * lies in the interval (90 asked for), and so does what five later calibrations find, by their median; without the
 * probes, in clearly fewer. The counts are printed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/fit/drift.h"
#include "calibrate/fit/fit_machine.h"
#include "share/base/random.h"
#include "share/base/statistics.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum {
    CALIBRATIONS = 300,
    LATER = 5,
    SECONDS = 57,
    LAUNCH_S = 19,
    SAMPLES_A_SECOND = 8,
    REPLICATES = 60,
    HELD_PERCENT = 90,
    HELD_WITHOUT_PERCENT = 80
};

#define DRIFT       0.04
#define MEMORY_S    30.0
#define NOISE       0.03
#define PROBE_NOISE 0.01
#define TAU_S       1e-7
#define BYTES_PER_S 5e9

struct machine_state {
    struct twister random;
    double level; /* ln of the time over that of the mean machine */
};

/* Steps a first-order autoregression, second by second. */
static double next_level(struct machine_state *state)
{
    double kept = exp(-1 / MEMORY_S);
    state->level = kept * state->level + twister_gaussian(&state->random, DRIFT * sqrt(1 - kept * kept));
    return state->level;
}

static struct samples calibrate(struct machine_state *state)
{
    struct samples samples = {0};
    unsigned n = 0;
    for (uint32_t second = 0; second < SECONDS; second++) {
        double factor = exp(next_level(state));
        for (int i = 0; i < SAMPLES_A_SECOND; i++) {
            uint64_t bytes = UINT64_C(1) << (n++ * 5 % 23);
            double seconds =
                (TAU_S + (double)bytes / BYTES_PER_S) * factor * (1 + twister_gaussian(&state->random, NOISE));
            const struct sample sample = {.level = LEVEL_SELF,
                                          .benchmark = BENCHMARK_SELF,
                                          .n = 1,
                                          .count = 1,
                                          .bytes = bytes,
                                          .seconds = seconds,
                                          .launch = second / LAUNCH_S};
            samples_append(&samples, &sample);
        }
        const struct probing probing = {
            .small_s = TAU_S * factor * (1 + twister_gaussian(&state->random, PROBE_NOISE)),
            .large_s = 2e-4 * factor * (1 + twister_gaussian(&state->random, PROBE_NOISE)),
        };
        probings_append(&samples.probings, &probing);
    }
    samples_sort(&samples);
    return samples;
}

/* The values are latency and bandwidth. */
enum { N_VALUES = 2 };

static void fit(const struct samples *samples, struct machine_parameter values[N_VALUES])
{
    static const char *const quantity[N_VALUES] = {"tau", "bw"};
    struct fit_options options = {.replicates = REPLICATES};
    struct machine machine = {0};
    struct error error;
    int found = 0;
    if (fit_machine(samples, &options, &machine, NULL, &error) != 0)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < machine.n_parameters; i++)
        for (int k = 0; k < N_VALUES; k++)
            if (strcmp(machine.parameters[i].quantity, quantity[k]) == 0) {
                values[k] = machine.parameters[i];
                found++;
            }
    assert_int_equal(found, N_VALUES);
    machine_release(&machine);
}

static bool holds(const struct machine_parameter *row, double value)
{
    return row->ci_low <= value && value <= row->ci_high;
}

static void intervals_hold_later_calibrations(void **state)
{
    (void)state;
    static const double truth[N_VALUES] = {TAU_S, BYTES_PER_S};
    struct machine_state machine = {.level = 0};
    static struct machine_parameter with[CALIBRATIONS][N_VALUES], without[CALIBRATIONS][N_VALUES];
    twister_seed(&machine.random, 0);
    for (int i = 0; i < CALIBRATIONS; i++) {
        struct samples samples = calibrate(&machine);
        fit(&samples, with[i]);
        samples.probings.n = 0;
        fit(&samples, without[i]);
        samples_release(&samples);
    }
    for (int k = 0; k < N_VALUES; k++) {
        int mean_with = 0, mean_without = 0, later_with = 0, later_without = 0, n_later = CALIBRATIONS - LATER;
        for (int i = 0; i < CALIBRATIONS; i++) {
            mean_with += holds(&with[i][k], truth[k]);
            mean_without += holds(&without[i][k], truth[k]);
        }
        for (int i = 0; i < n_later; i++) {
            double later[LATER];
            for (int j = 0; j < LATER; j++)
                later[j] = with[i + 1 + j][k].value;
            double median = unsorted_median(later, LATER);
            later_with += holds(&with[i][k], median);
            later_without += holds(&without[i][k], median);
        }
        printf("%s: the mean machine in %d of %d intervals, without probes in %d; the median of %d later ones in %d of "
               "%d, "
               "without probes in %d\n",
               k == 0 ? "tau" : "bw", mean_with, CALIBRATIONS, mean_without, LATER, later_with, n_later, later_without);
        assert_true(100 * mean_with >= HELD_PERCENT * CALIBRATIONS);
        assert_true(100 * later_with >= HELD_PERCENT * n_later);
        assert_true(100 * mean_without < HELD_WITHOUT_PERCENT * CALIBRATIONS);
        assert_true(100 * later_without < HELD_WITHOUT_PERCENT * n_later);
    }
}

/* Widens to hold 95 % of the levels of a machine that is known by n probes. */
static void widens_by_prediction_interval(void **state)
{
    (void)state;
    static const struct machine_parameter rows[] = {
        {.quantity = "tau", .value = 10, .ci_low = 7, .ci_high = 16},
        {.quantity = "bw", .value = 10, .ci_low = 10, .ci_high = NAN},
        {.quantity = "threshold", .value = 10, .ci_low = 9, .ci_high = 11},
        {.quantity = "queue_step", .value = 10, .ci_low = 0, .ci_high = 11},
        {.quantity = "tau", .value = 1e308, .ci_low = 0, .ci_high = 1.7e308},
    };
    struct drift drift = {.small = 0.4 / (4.302652729911275 * sqrt(4.0 / 3)),
                          .large = 0,
                          .n_probes = 3,
                          .disturbed = 0.25,
                          .waited = NAN,
                          .steal = 0};
    struct machine machine = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        machine_append(&machine, &rows[i]);
    drift_apply(&drift, &machine);
    const struct machine_parameter *row = machine.parameters;
    assert_true(fabs(row[0].ci_low - 5) < 1e-9 && fabs(row[0].ci_high - (10 + sqrt(52))) < 1e-9);
    assert_true(row[1].ci_low == 10 && isnan(row[1].ci_high));
    assert_true(row[2].ci_low == 9 && row[2].ci_high == 11);
    assert_true(row[3].ci_low == 0 && fabs(row[3].ci_high - (10 + sqrt(17))) < 1e-9);
    assert_true(row[4].ci_low == 0 && isnan(row[4].ci_high)); /* beyond what a table holds */
    assert_int_equal(machine.n_parameters, 9);                /* waited is not known */
    assert_string_equal(row[5].quantity, "drift_small");
    assert_string_equal(row[7].quantity, "disturbed");
    assert_true(row[7].value == 0.25 && row[7].level == LEVEL_COUNT && isnan(row[7].ci_low));
    machine_release(&machine);
    drift.n_probes = 0; /* as of samples of earlier versions */
    drift.small = drift.large = drift.disturbed = drift.steal = NAN;
    machine_append(&machine, &rows[0]);
    drift_apply(&drift, &machine);
    assert_int_equal(machine.n_parameters, 1);
    assert_true(machine.parameters[0].ci_low == 7);
    machine_release(&machine);
}

static void tells_what_is_too_disturbed(void **state)
{
    (void)state;
    static const struct {
        struct disturbance pingpong;
        double slower; /* of two halves the second */
        const char *says;
    } cases[] = {
        {{100, 0, 20, 0}, 1, NULL},
        {{100, 90, 20, 0}, 1, NULL}, /* all repeated */
        {{100, 50, 20, 1}, 1, NULL},
        {{100, 50, 20, 2},
         1,
         "too disturbed: 10 % of the measurements were taken only while others had the machine (pingpong 2 of 20); "
         "others had 20 %"},
        {{100, 0, 20, 0},
         1.6,
         "too disturbed: 0 % of the measurements were taken only while others had the machine; others had 20 % of the "
         "processor time "
         "that the ranks wanted, the hypervisor took 1.0 %; the processor drifted by 24 %, the memory by 0 %"},
        {{0, 0, 0, 0}, 1, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct samples samples = {.disturbance = {[BENCHMARK_PINGPONG] = cases[i].pingpong}};
        struct drift drift;
        struct error error = {.text = ""};
        for (int k = 0; k < 40; k++) {
            const struct probing probing = {
                .small_s = k < 20 ? 1 : cases[i].slower, .large_s = 1, .waited = 0.2, .steal = 0.01};
            probings_append(&samples.probings, &probing);
        }
        drift_find(&samples, &drift);
        int result = drift_check(&drift, &samples, &error);
        if (result != (cases[i].says == NULL ? 0 : -1) || (result != 0 && strstr(error.text, cases[i].says) == NULL))
            fail_msg("case %zu: %d, %s", i, result, error.text);
        samples_release(&samples);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_hold_later_calibrations),
        cmocka_unit_test(widens_by_prediction_interval),
        cmocka_unit_test(tells_what_is_too_disturbed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

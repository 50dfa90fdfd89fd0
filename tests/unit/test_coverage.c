/* Tests that the intervals of a fit hold what they promise: of 100 draws of samples with known parameters, noise of 5 %
 * and 2 % outliers at 10 times, each parameter lies in its 95 % interval in at least 90; with one launch, and with four
 * whose times are all off by 3 %. The counts are printed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fit_machine.h"
#include "calibrate/fit/thresholds.h"
#include "share/base/random.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { DRAWS = 100, HELD_MIN = 90, SAMPLES_A_SIZE = 20, LAUNCHES_MAX = 4, REPLICATES = 100 };

#define NOISE          0.05
#define OUTLIERS       0.02
#define OUTLIER_FACTOR 10
#define LAUNCH_EFFECT  0.03
#define EAGER_BYTES    256
#define LARGE_BYTES    16384
#define BYTES_MAX      4194304
#define SHORT_TAU_S    0.4e-6
#define EAGER_TAU_S    0.8e-6
#define LARGE_TAU_S    3e-6

static const struct parameter {
    enum machine_protocol protocol;
    uint64_t n; /* MACHINE_NO_N: tau, s; else bw, B/s */
    double value;
} truth[] = {
    {PROTOCOL_SHORT, MACHINE_NO_N, SHORT_TAU_S},
    {PROTOCOL_SHORT, 1, 1e9},
    {PROTOCOL_SHORT, 2, 1.6e9},
    {PROTOCOL_SHORT, 4, 2e9},
    {PROTOCOL_EAGER, MACHINE_NO_N, EAGER_TAU_S},
    {PROTOCOL_EAGER, 1, 4e9},
    {PROTOCOL_EAGER, 2, 6e9},
    {PROTOCOL_EAGER, 4, 8e9},
    {PROTOCOL_RENDEZVOUS, MACHINE_NO_N, LARGE_TAU_S},
    {PROTOCOL_RENDEZVOUS, 1, 10e9},
    {PROTOCOL_RENDEZVOUS, 2, 15e9},
    {PROTOCOL_RENDEZVOUS, 4, 18e9},
};
enum { N_TRUTH = sizeof truth / sizeof truth[0] };

static double value_of(enum machine_protocol protocol, uint64_t n)
{
    for (int i = 0; i < N_TRUTH; i++)
        if (truth[i].protocol == protocol && truth[i].n == n)
            return truth[i].value;
    fail_msg("no value of n = %llu", (unsigned long long)n);
    return 0;
}

static enum machine_protocol protocol_of(uint64_t bytes)
{
    return bytes < EAGER_BYTES ? PROTOCOL_SHORT : bytes < LARGE_BYTES ? PROTOCOL_EAGER : PROTOCOL_RENDEZVOUS;
}

static struct samples draw(struct twister *random, uint32_t n_launches)
{
    struct samples samples = {0};
    double effect[LAUNCHES_MAX];
    for (uint32_t i = 0; i < n_launches; i++)
        effect[i] = n_launches > 1 ? 1 + twister_gaussian(random, LAUNCH_EFFECT) : 1;
    for (uint64_t n = 1; n <= 4; n *= 2)
        for (uint64_t bytes = 1; bytes <= BYTES_MAX; bytes *= 2)
            for (uint32_t i = 0; i < SAMPLES_A_SIZE; i++) {
                enum machine_protocol protocol = protocol_of(bytes);
                double exact_s = value_of(protocol, MACHINE_NO_N) + (double)(n * bytes) / value_of(protocol, n);
                double factor = 1 + twister_gaussian(random, NOISE);
                if (twister_uniform(random) < OUTLIERS)
                    factor *= OUTLIER_FACTOR;
                struct sample sample = {
                    .level = LEVEL_INTRA_SOCKET,
                    .benchmark = n == 1 ? BENCHMARK_PINGPONG : BENCHMARK_ALGORITHM1,
                    .launch = i % n_launches,
                    .n = n,
                    .bytes = bytes,
                    .count = 1,
                    .seconds = exact_s * factor * effect[i % n_launches],
                };
                samples_append(&samples, &sample);
            }
    samples_sort(&samples);
    return samples;
}

/* Counts what became of one parameter in all draws. */
struct outcome {
    int held;
    int open;     /* intervals without an upper end: its points do not tell a slope from 0 */
    double width; /* sum of half widths over the value, for the others */
};

static void count_draw(const struct machine *machine, struct outcome *outcomes)
{
    for (int i = 0; i < N_TRUTH; i++) {
        const struct machine_parameter *row = NULL;
        for (size_t k = 0; k < machine->n_parameters; k++)
            if (machine->parameters[k].protocol == truth[i].protocol && machine->parameters[k].n == truth[i].n &&
                strcmp(machine->parameters[k].quantity, truth[i].n == MACHINE_NO_N ? "tau" : "bw") == 0)
                row = &machine->parameters[k];
        assert_non_null(row);
        assert_true(row->value > 0 && row->ci_low >= 0 && row->ci_low <= row->value);
        assert_true(isnan(row->ci_high) || row->ci_high >= row->value);
        outcomes[i].held += row->ci_low <= truth[i].value && !(row->ci_high < truth[i].value);
        if (isnan(row->ci_high))
            outcomes[i].open++;
        else
            outcomes[i].width += (row->ci_high - row->ci_low) / 2 / row->value;
    }
}

static void cover(uint32_t n_launches)
{
    struct twister random;
    struct fit_options options = {.replicates = REPLICATES};
    struct error error;
    struct outcome outcomes[N_TRUTH] = {{0, 0, 0}};
    bool enough = true;
    twister_seed(&random, n_launches);
    assert_int_equal(fit_thresholds_parse("0,256,16384", &options, &error), 0);
    for (int i = 0; i < DRAWS; i++) {
        struct samples samples = draw(&random, n_launches);
        struct machine machine = {0};
        assert_int_equal(fit_machine(&samples, &options, &machine, NULL, &error), 0);
        count_draw(&machine, outcomes);
        machine_release(&machine);
        samples_release(&samples);
    }
    printf("%u launch%s: protocol, quantity, n, in the interval of %d draws, without an upper end, mean half width\n",
           n_launches, n_launches > 1 ? "es" : "", DRAWS);
    for (int i = 0; i < N_TRUTH; i++) {
        const struct outcome *outcome = &outcomes[i];
        char n[32] = "-";
        if (truth[i].n != MACHINE_NO_N)
            snprintf(n, sizeof n, "%llu", (unsigned long long)truth[i].n);
        printf("  %-10s  %-3s  %s  %3d  %3d  %5.1f %%\n", machine_protocol_name[truth[i].protocol],
               truth[i].n == MACHINE_NO_N ? "tau" : "bw", n, outcome->held, outcome->open,
               outcome->open < DRAWS ? 100 * outcome->width / (DRAWS - outcome->open) : NAN);
        enough = enough && outcome->held >= HELD_MIN;
    }
    assert_true(enough);
}

static void holds_with_one_launch(void **state)
{
    (void)state;
    cover(1);
}

static void holds_with_four_launches(void **state)
{
    (void)state;
    cover(4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_with_one_launch),
        cmocka_unit_test(holds_with_four_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

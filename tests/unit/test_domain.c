/* Tests samples of pairs that share different things on a socket: each domain's own rows, and a level that counts every
 * pair of ranks alike. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/samples/samples.h"
#include "calibrate/fit/fit_machine.h"
#include "calibrate/fit/thresholds.h"
#include "tests/unit/scratch.h"

#include <cmocka.h> /* last: it defines fail as a macro */

static void assert_close(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.17g, expected %.17g", value, expected);
}

static void combines_by_rank_pairs(void **state)
{
    (void)state;
    static const struct {
        double seconds[DOMAIN_COUNT], n_pairs[DOMAIN_COUNT], expected;
    } cases[] = {
        {{7, 0, 0, 0}, {0}, 7},            /* all alike */
        {{0, 1, 0, 3}, {0, 4, 0, 24}, 3},  /* most pairs share the package only */
        {{0, 1, 0, 3}, {0, 24, 0, 4}, 1},  /* most pairs share an L3 */
        {{0, 1, 0, 3}, {0, 12, 0, 12}, 2}, /* half of them each */
        {{0, 1, 0, 3}, {0}, 2},            /* not told: all alike */
        {{0, 1, 2, 3}, {0, 4, 8, 16}, 3},  /* 16 of 28 */
        {{0, 1, 2, 3}, {0, 10, 8, 10}, 2}, /* the 14th of 28 */
        {{0, 3, 2, 1}, {0, 10, 8, 10}, 2}, /* in any order */
        {{0, 1, 2, 4}, {0, 4, 4, 8}, 3},   /* exactly half of the pairs are faster than 4 */
        {{0, 1, 0, 4}, {0, 4, 100, 5}, 4}, /* a domain that was not measured does not count */
        {{0, 0, 0, 0}, {0, 1, 1, 1}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_close(samples_combine(cases[i].seconds, cases[i].n_pairs), cases[i].expected, 0);
}

static const struct domain_truth {
    enum domain domain;
    double tau_s, bytes_per_s;
    int samples; /* a size */
} machine_of_two[] = {{DOMAIN_L3, 0.4e-6, 12e9, 60}, {DOMAIN_PACKAGE, 1e-6, 5e9, 10}},
  machine_of_like[] = {{DOMAIN_L3, 1e-6, 5.02e9, 10}, {DOMAIN_PACKAGE, 1e-6, 5e9, 10}},
  machine_of_three[] = {{DOMAIN_L3, 0.4e-6, 12e9, 60}, {DOMAIN_NUMA, 0.8e-6, 8e9, 10}, {DOMAIN_PACKAGE, 1e-6, 5e9, 10}};

/* Makes a ping-pong of every domain, Algorithm 1 for N = 1, 2 of every domain and for N = 4 of all together. */
static struct samples make_samples(const struct domain_truth *truth, size_t n_domains)
{
    struct samples samples = {.n_samples = 0};
    for (uint64_t bytes = 1; bytes <= 4194304; bytes *= 2)
        for (size_t d = 0; d < n_domains; d++)
            for (int i = 0; i < truth[d].samples; i++)
                for (uint64_t n = 0; n <= 4; n = n == 0 ? 1 : 2 * n) { /* 0: the ping-pong */
                    double processes = n == 0 ? 1 : (double)n;
                    struct sample sample = {
                        .level = LEVEL_INTRA_SOCKET,
                        .benchmark = n == 0 ? BENCHMARK_PINGPONG : BENCHMARK_ALGORITHM1,
                        .n = n == 0 ? 1 : n,
                        .bytes = bytes,
                        .domain = (uint8_t)(n == 4 ? DOMAIN_NONE : truth[d].domain),
                        .seconds =
                            truth[n == 4 ? 0 : d].tau_s +
                            (double)bytes * processes / ((0.5 + 0.5 * processes) * truth[n == 4 ? 0 : d].bytes_per_s),
                    };
                    samples_append(&samples, &sample);
                }
    samples_sort(&samples);
    return samples;
}

static const struct machine_parameter *find_row(const struct machine *machine, const char *quantity, uint64_t n)
{
    for (size_t i = 0; i < machine->n_parameters; i++)
        if (machine->parameters[i].n == n && strcmp(machine->parameters[i].quantity, quantity) == 0)
            return &machine->parameters[i];
    return NULL;
}

static void assert_row(const struct machine *machine, const char *quantity, uint64_t n, double expected)
{
    const struct machine_parameter *row = find_row(machine, quantity, n);
    if (row == NULL)
        fail_msg("no row %s", quantity);
    assert_int_equal(row->level, LEVEL_INTRA_SOCKET);
    assert_close(row->value, expected, 1e-9);
    assert_true(row->ci_low <= row->value && row->value <= row->ci_high);
    assert_true(row->ci_high - row->ci_low < 0.01 * expected); /* other domains are no noise */
}

/* Fits and returns the notes, which the caller frees. */
static char *fit(const struct samples *samples, struct machine *machine)
{
    struct fit_options options = {.replicates = 20};
    struct error error = {""};
    char *notes = NULL;
    size_t size = 0;
    assert_int_equal(fit_thresholds_parse("0", &options, &error), 0);
    FILE *stream = open_memstream(&notes, &size);
    assert_non_null(stream);
    *machine = (struct machine){.name = "m"};
    if (fit_machine(samples, &options, machine, stream, &error) != 0)
        fail_msg("%s", error.text);
    fclose(stream);
    assert_int_equal(machine_check(machine, &error), 0);
    for (size_t i = 0; i < machine->n_parameters; i++)
        if (machine_check_parameter(&machine->parameters[i], &error) != 0)
            fail_msg("%s", error.text);
    return notes;
}

static void fits_two_domains(void **state)
{
    (void)state;
    struct samples samples = make_samples(machine_of_two, 2);
    struct machine machine;
    samples.domain_pairs[DOMAIN_L3] = 4;
    samples.domain_pairs[DOMAIN_PACKAGE] = 24;
    char *notes = fit(&samples, &machine);
    assert_row(&machine, "tau_l3", MACHINE_NO_N, 0.4e-6);
    assert_row(&machine, "bw_l3", 1, 12e9);
    assert_row(&machine, "tau_package", MACHINE_NO_N, 1e-6);
    assert_row(&machine, "bw_package", 1, 5e9);
    assert_null(find_row(&machine, "tau_numa", MACHINE_NO_N));
    /* There are six times as many samples, but a sixth of the rank pairs. */
    assert_row(&machine, "tau", MACHINE_NO_N, 1e-6);
    assert_row(&machine, "bw", 1, 5e9);
    assert_row(&machine, "bw", 2, 7.5e9);
    assert_row(&machine, "bw", 4, 30e9); /* of the whole socket */
    /* This is (1 us + 1 MiB / 5 GB/s) / (0.4 us + 1 MiB / 12 GB/s). */
    if (strstr(notes,
               "intra_socket: at 1048576 B pairs that share an L3 are 2.40 times as fast as those that share the "
               "package only") == NULL)
        fail_msg("notes: %s", notes);
    free(notes);
    machine_release(&machine);
    /* They are 0.4 % apart, but with 10 % of noise. */
    samples_release(&samples);
    samples = make_samples(machine_of_like, 2);
    for (size_t i = 0; i < samples.n_samples; i++)
        samples.samples[i].seconds *= 0.9 + 0.2 * (double)((i * 2654435761u >> 7) % 1000) / 1000;
    samples_sort(&samples);
    notes = fit(&samples, &machine);
    if (strstr(notes, "intra_socket: at 1048576 B it makes no difference beyond the intervals") == NULL)
        fail_msg("notes: %s", notes);
    free(notes);
    machine_release(&machine);
    samples_release(&samples);
    samples = make_samples(machine_of_two, 2);
    samples.domain_pairs[DOMAIN_L3] = 24;
    samples.domain_pairs[DOMAIN_PACKAGE] = 4;
    free(fit(&samples, &machine));
    assert_row(&machine, "tau", MACHINE_NO_N, 0.4e-6);
    assert_row(&machine, "bw", 1, 12e9);
    machine_release(&machine);
    samples_release(&samples);
}

static void fits_three_domains(void **state)
{
    (void)state;
    struct samples samples = make_samples(machine_of_three, 3);
    struct machine machine;
    samples.domain_pairs[DOMAIN_L3] = 10;
    samples.domain_pairs[DOMAIN_NUMA] = 8;
    samples.domain_pairs[DOMAIN_PACKAGE] = 10;
    free(fit(&samples, &machine));
    assert_row(&machine, "bw_l3", 1, 12e9);
    assert_row(&machine, "bw_numa", 1, 8e9);
    assert_row(&machine, "bw_package", 1, 5e9);
    assert_row(&machine, "tau_numa", MACHINE_NO_N, 0.8e-6);
    assert_row(&machine, "bw", 1, 8e9); /* the middle pair */
    assert_row(&machine, "tau", MACHINE_NO_N, 0.8e-6);
    machine_release(&machine);
    samples_release(&samples);
}

/* One domain alone is the level itself; a domain that has too few sizes is left out. */
static void tells_domains_apart_only_where_there_are_two(void **state)
{
    (void)state;
    struct samples samples = make_samples(machine_of_two, 1);
    struct machine machine;
    free(fit(&samples, &machine));
    assert_row(&machine, "bw", 1, 12e9);
    assert_null(find_row(&machine, "bw_l3", 1));
    machine_release(&machine);
    struct sample single = {.level = LEVEL_INTRA_SOCKET, .n = 1, .bytes = 1, .domain = DOMAIN_NUMA, .seconds = 0.4e-6};
    samples_append(&samples, &single);
    samples_sort(&samples);
    char *notes = fit(&samples, &machine);
    assert_row(&machine, "bw_l3", 1, 12e9);
    assert_null(find_row(&machine, "bw_numa", 1));
    if (strstr(notes, "intra_socket numa: left out") == NULL)
        fail_msg("notes: %s", notes);
    free(notes);
    machine_release(&machine);
    samples_release(&samples);
}

static void reads_what_the_calibration_told(void **state)
{
    (void)state;
    struct samples samples;
    struct error error;
    const char *path =
        scratch_text("# domain intra_socket l3 12\n# domain intra_socket package 16\n"
                     "# domain intra_socket l3 99\n# domain intra_socket numa -3\n"
                     "# domain intra_socket planet 5\n# domain inter_node numa 5\n# domain intra_socket\n"
                     "# domain intra_socket numa nan\n# domain intra_socket numa 1e99\n"
                     "level,bytes,seconds,domain\nintra_socket,1,1,package\nintra_socket,1,1,l3\n"
                     "intra_socket,1,1,\nintra_socket,1,1,planet\n");
    if (samples_read_csv(path, &samples, &error) != 0)
        fail_msg("%s", error.text);
    const double expected[DOMAIN_COUNT] = {0, 12, 0, 16};
    assert_memory_equal(samples.domain_pairs, expected, sizeof expected);
    static const uint8_t domains[] = {DOMAIN_NONE, DOMAIN_NONE, DOMAIN_L3, DOMAIN_PACKAGE}; /* sorted */
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(samples.samples[i].domain, domains[i]);
    samples_release(&samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(combines_by_rank_pairs),
        cmocka_unit_test(fits_two_domains),
        cmocka_unit_test(fits_three_domains),
        cmocka_unit_test(tells_domains_apart_only_where_there_are_two),
        cmocka_unit_test_teardown(reads_what_the_calibration_told, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

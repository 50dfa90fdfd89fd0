/* Tests lines, thresholds and machine tables from samples: known parameters come back, within their intervals with
 * noise. */
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
#include "calibrate/fit/verdict.h"

#include <cmocka.h> /* last: it defines fail as a macro */

static void assert_close(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.17g, expected %.17g", value, expected);
}

static void finds_a_line(void **state)
{
    (void)state;
    const double x[] = {0, 1, 2, 1000}, y[] = {2, 2.5, 3, 502};
    for (int method = LINE_RELATIVE; method <= LINE_OLS; method++) {
        struct line line;
        assert_int_equal(line_fit(x, y, 4, (enum line_method)method, NULL, &line), 0);
        assert_int_equal(line.kind, LINE_PLAIN);
        assert_close(line.intercept.value, 2, 1e-9);
        assert_close(line.slope.value, 0.5, 1e-9);
        assert_true(line.slope.low <= line.slope.value && line.slope.high >= line.slope.value);
    }
    /* By hand: with weights 1/y^2 on (1,1) (2,2) (3,6) the sums over 36 are w 46, wx 57, wxx 81, wy 60, wxy 90; the
     * free slope is 720/477, its intercept -0.57, so the line goes through the origin: slope 90/81. */
    const double u[] = {1, 2, 3}, v[] = {1, 2, 6};
    struct line line;
    assert_int_equal(line_fit(u, v, 3, LINE_RELATIVE, NULL, &line), 0);
    assert_int_equal(line.kind, LINE_THROUGH_ORIGIN);
    assert_close(line.slope.value, 90. / 81, 1e-12);
    assert_true(line.intercept.value == 0);
}

static void never_gives_a_negative_slope(void **state)
{
    (void)state;
    const double x[] = {1, 2, 4, 8}, falling[] = {4, 3.9, 3.8, 3.7}, same[] = {5, 5, 5, 5};
    struct line line;
    assert_int_equal(line_fit(x, falling, 4, LINE_RELATIVE, NULL, &line), 0);
    assert_int_equal(line.kind, LINE_FLAT);
    assert_true(line.slope.value > 0 && line.intercept.value >= 0);
    assert_int_equal(line_fit(x, same, 4, LINE_OLS, NULL, &line), 0);
    assert_true(line.slope.value > 0 && line.intercept.value >= 0);
}

static void refuses_what_is_no_line(void **state)
{
    (void)state;
    struct line line;
    const double one_x[] = {3, 3, 3}, y[] = {1, 2, 3}, x[] = {1, 2, 3}, zero[] = {1, 0, 3}, nan[] = {1, NAN, 3};
    assert_int_equal(line_fit(one_x, y, 3, LINE_OLS, NULL, &line), -1);
    assert_int_equal(line_fit(x, y, 1, LINE_OLS, NULL, &line), -1);
    assert_int_equal(line_fit(x, y, 0, LINE_OLS, NULL, &line), -1);
    assert_int_equal(line_fit(x, zero, 3, LINE_RELATIVE, NULL, &line), -1);
    assert_int_equal(line_fit(x, nan, 3, LINE_RELATIVE, NULL, &line), -1);
    assert_int_equal(line_fit(x, y, 2, LINE_OLS, NULL, &line), 0);
    assert_true(isnan(line.slope.low) && isnan(line.intercept.high)); /* two points: no interval */
}

/* Draw reproducible uniform numbers in (0, 1) and normal ones. */
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

#define EAGER_TAU  0.5e-6
#define EAGER_BW   4e9
#define LARGE_TAU  3e-6
#define LARGE_BW   10e9
#define LARGE_FROM 8192

/* Makes 20 samples a size, noise of 5 % and 2 % outliers at 10 times; n = 2 of the large ones shares 1.5 LARGE_BW. */
static struct samples noisy_samples(uint64_t seed, double noise)
{
    struct samples samples = {0};
    for (uint64_t bytes = 1; bytes <= 4194304; bytes *= 2)
        for (uint64_t n = 1; n <= 2; n++)
            for (int i = 0; i < 20; i++) {
                double size = (double)bytes;
                double seconds = bytes < LARGE_FROM ? EAGER_TAU + size * (double)n / EAGER_BW
                                                    : LARGE_TAU + size * (n == 1 ? 1 / LARGE_BW : 2 / (1.5 * LARGE_BW));
                seconds *= 1 + noise * normal(&seed);
                if (noise > 0 && uniform(&seed) < 0.02)
                    seconds *= 10;
                struct sample sample = {.level = LEVEL_INTRA_SOCKET, .n = n, .bytes = bytes, .seconds = seconds};
                samples_append(&samples, &sample);
            }
    samples_sort(&samples);
    return samples;
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

static const struct {
    enum machine_protocol protocol;
    const char *quantity;
    uint64_t n;
    double value;
} truth[] = {
    {PROTOCOL_EAGER, "tau", MACHINE_NO_N, EAGER_TAU},
    {PROTOCOL_EAGER, "bw", 1, EAGER_BW},
    {PROTOCOL_EAGER, "bw", 2, EAGER_BW},
    {PROTOCOL_RENDEZVOUS, "tau", MACHINE_NO_N, LARGE_TAU},
    {PROTOCOL_RENDEZVOUS, "bw", 1, LARGE_BW},
    {PROTOCOL_RENDEZVOUS, "bw", 2, 1.5 * LARGE_BW},
};
enum { N_TRUTH = sizeof truth / sizeof truth[0] };

static void finds_exact_parameters_and_thresholds(void **state)
{
    (void)state;
    struct samples samples = noisy_samples(1, 0);
    struct fit_options options = {0};
    struct machine machine = {0};
    struct error error;
    assert_int_equal(fit_machine(&samples, &options, &machine, NULL, &error), 0);
    for (int i = 0; i < N_TRUTH; i++)
        assert_close(row_of(&machine, truth[i].protocol, truth[i].quantity, truth[i].n)->value, truth[i].value, 1e-9);
    assert_close(row_of(&machine, PROTOCOL_RENDEZVOUS, "threshold", MACHINE_NO_N)->value, LARGE_FROM, 0);
    assert_close(row_of(&machine, PROTOCOL_EAGER, "threshold", MACHINE_NO_N)->value, 0, 0);
    assert_int_equal(machine_check(&machine, &error), 0);
    machine_release(&machine);
    samples_release(&samples);
}

static void intervals_hold_the_parameters(void **state)
{
    (void)state;
    struct fit_options options = {0};
    struct error error;
    int inside[N_TRUTH] = {0};
    assert_int_equal(fit_thresholds_parse("0,2,8192", &options, &error), 0);
    for (int level = 0; level < LEVEL_COUNT; level++) { /* eager from 0, as the MPI would tell it */
        options.thresholds[level].n = 2;
        options.thresholds[level].bytes[1] = LARGE_FROM;
        options.thresholds[level].protocol[0] = PROTOCOL_EAGER;
        options.thresholds[level].protocol[1] = PROTOCOL_RENDEZVOUS;
    }
    for (uint64_t draw = 1; draw <= 100; draw++) {
        struct samples samples = noisy_samples(draw, 0.05);
        struct machine machine = {0};
        assert_int_equal(fit_machine(&samples, &options, &machine, NULL, &error), 0);
        for (int i = 0; i < N_TRUTH; i++) {
            const struct machine_parameter *row = row_of(&machine, truth[i].protocol, truth[i].quantity, truth[i].n);
            inside[i] += row->ci_low <= truth[i].value && truth[i].value <= row->ci_high;
            assert_close(row->value, truth[i].value, 0.2);
        }
        machine_release(&machine);
        samples_release(&samples);
    }
    for (int i = 0; i < N_TRUTH; i++)
        if (inside[i] < 90)
            fail_msg("%s %s: in %d of 100 intervals", machine_protocol_name[truth[i].protocol], truth[i].quantity,
                     inside[i]);
}

static void told_rendezvous_holds(void **state)
{
    (void)state;
    struct samples samples = noisy_samples(3, 0.01);
    struct fit_options options = {0};
    samples.told_bytes[LEVEL_INTRA_SOCKET] = 32768;
    struct machine machine = {0};
    struct error error;
    assert_int_equal(fit_machine(&samples, &options, &machine, NULL, &error), 0);
    const struct machine_parameter *row = row_of(&machine, PROTOCOL_RENDEZVOUS, "threshold", MACHINE_NO_N);
    assert_close(row->value, 32768, 0);
    assert_string_equal(row->method, "mpi_t");
    machine_release(&machine);
    samples_release(&samples);
}

/* The ping-pong gives the latency of small messages, Algorithm 1 the bandwidth of large ones. */
static void takes_each_benchmark_for_its_part(void **state)
{
    (void)state;
    struct samples samples;
    struct machine machine = {0};
    struct fit_options options = {0};
    struct error error;
    const char *path = scratch_text("benchmark,level,bytes,n,seconds\n"
                                    "pingpong,intra_socket,1,1,1.1\npingpong,intra_socket,2,1,1.2\n"
                                    "pingpong,intra_socket,100,1,110\npingpong,intra_socket,200,1,120\n"
                                    "algorithm1,intra_socket,1,1,5.5\nalgorithm1,intra_socket,2,1,6\n"
                                    "algorithm1,intra_socket,100,1,70\nalgorithm1,intra_socket,200,1,120\n"
                                    "algorithm1,intra_socket,100,2,45\nalgorithm1,intra_socket,200,2,85\n");
    assert_int_equal(samples_read_csv(path, &samples, &error), 0);
    assert_int_equal(fit_thresholds_parse("0,50,60", &options, &error), 0);
    assert_int_equal(fit_machine(&samples, &options, &machine, NULL, &error), 0);
    assert_close(row_of(&machine, PROTOCOL_SHORT, "tau", MACHINE_NO_N)->value, 1, 1e-9);
    assert_true(isnan(row_of(&machine, PROTOCOL_RENDEZVOUS, "tau", MACHINE_NO_N)->ci_high)); /* one sample a size */
    assert_close(row_of(&machine, PROTOCOL_SHORT, "bw", 1)->value, 10, 1e-9);
    assert_close(row_of(&machine, PROTOCOL_RENDEZVOUS, "tau", MACHINE_NO_N)->value, 5, 1e-9);
    assert_close(row_of(&machine, PROTOCOL_RENDEZVOUS, "bw", 1)->value, 2, 1e-9);
    assert_close(row_of(&machine, PROTOCOL_RENDEZVOUS, "bw", 2)->value, 5, 1e-9);
    machine_release(&machine);
    samples_release(&samples);
}

static void refuses_malformed_samples(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", ""},
        {"level,bytes,seconds\n", "holds no samples"},
        {"level,bytes\nself,1\n", "seconds"},
        {"level,bytes,bytes,seconds\nself,1,1,1\n", "bytes"},
        {"level,bytes,seconds\nplanet,1,1\n", ":2: level 'planet' is not one of"},
        {"level,bytes,seconds\nself,-1,1\n", ":2"},
        {"level,bytes,seconds\nself,1.5,1\n", ":2"},
        {"level,bytes,seconds\nself,99999999999999999999,1\n", ":2"},
        {"level,bytes,seconds\nself,1,0\n", ":2: seconds 0: expected a time above 0"},
        {"level,bytes,seconds\nself,1,-1e-6\n", ":2"},
        {"level,bytes,seconds\nself,1,nan\n", ":2"},
        {"level,bytes,seconds\nself,1,inf\n", ":2"},
        {"level,bytes,seconds\nself,1,1e999\n", ":2"},
        {"level,bytes,seconds\nself,1,fast\n", ":2"},
        {"level,bytes,seconds\nself,1\n", ":2"},
        {"level,bytes,seconds,n\nself,1,1,0\n", ":2: n 0"},
        {"level,bytes,seconds,n\nself,1,1,18446744073709551615\n", ":2: n 18446744073709551615 is too large"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct samples samples = {0};
        struct error error = {""};
        if (samples_read_csv(scratch_text(cases[i].text), &samples, &error) != -1 ||
            strstr(error.text, cases[i].reason) == NULL || samples.samples != NULL)
            fail_msg("'%s' gave '%s', expected '%s'", cases[i].text, error.text, cases[i].reason);
    }
    struct samples samples;
    struct error error;
    assert_int_equal(samples_read_csv(scratch_gone(), &samples, &error), -1);
    assert_int_equal(
        samples_read_csv(scratch_text("x,seconds,level,bytes\r\n\"a,b\",1e-6,self,8\r\n"), &samples, &error), 0);
    assert_true(samples.n_samples == 1 && samples.samples[0].n == 1 && samples.samples[0].bytes == 8);
    samples_release(&samples);
}

static void refuses_malformed_thresholds(void **state)
{
    (void)state;
    static const char *const cases[] = {"",
                                        "0,",
                                        "256",
                                        "0,256,256",
                                        "0,512,256",
                                        "0,1,2,3",
                                        "0,-1",
                                        "0,x",
                                        "0, 256",
                                        "0,1.5",
                                        "nan",
                                        "0,1e999",
                                        "Auto",
                                        "0,0x100",
                                        "0,256;",
                                        "99999999999999999999",
                                        "0,9007199254740993"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fit_options options = {0};
        struct error error = {""};
        if (fit_thresholds_parse(cases[i], &options, &error) != -1 || strstr(error.text, "--thresholds") == NULL)
            fail_msg("'%s' gave '%s'", cases[i], error.text);
    }
}

static void reports_what_is_suspicious(void **state)
{
    (void)state;
    struct machine machine;
    struct samples samples;
    struct error error;
    assert_int_equal(machine_read(scratch_text("name m\nsource s\n"
                                               "intra_socket any tau - 1e-6 s #: 0.99e-6 1.01e-6 100 x\n"
                                               "intra_socket any bw 1 4e9 B/s #: 3.9e9 4.1e9 100 x\n"
                                               "intra_socket any bw 2 9e9 B/s #: 8e9 - 100 x\n"
                                               "intra_socket any bw 4 20e9 B/s #: 20e9 23e9 9 x\n"
                                               "inter_socket any tau - 1e-6 s\ninter_socket any bw 1 4e9 B/s\n"
                                               "inter_socket any injection - 3e9 B/s #: 2.9e9 3.1e9 50 x\n"
                                               "any any queue_step 8 1e-9 s #: 0 1e-8 50 x\n"
                                               "any any gamma - 1e-9 s #: 1e-10 1e-8 50 x\n"
                                               "inter_node any buffer - 1000 B #: 999 1001 2 x\n"),
                                  &machine, &error),
                     0);
    /* The probe's sample is no rate. */
    assert_int_equal(samples_read_csv(scratch_text("benchmark,variant,level,bytes,n,seconds\n"
                                                   "pingpong,,intra_socket,1000000,1,3e-4\n"
                                                   "algorithm1,,intra_socket,1000000,2,2.3e-4\n"
                                                   "eager,refused,intra_socket,2000000,2,0.02\n"),
                                      &samples, &error),
                     0);
    struct doubts doubts = doubts_find(&machine, &samples);
    char sentences[2048] = "";
    for (size_t i = 0; i < doubts.n; i++) {
        size_t used = strlen(sentences);
        snprintf(sentences + used, sizeof sentences - used, "%s\n", doubts.doubts[i].sentence);
    }
    static const char *const expected[] = {
        "intra_socket any bw 1: 4 GB/s is less than half of bw 2", "intra_socket any bw 1: promises 3.984 GB/s",
        "intra_socket any bw 2: its 95 % interval has no end",     "intra_socket any bw 4: only 9 samples",
        "intra_socket any bw 4: its 95 % interval is 15 % wide",   "intra_socket any bw 4: a process's share grows",
        "inter_socket any injection: 3 GB/s is less than bw 1, 4", "any any gamma: its 95 % interval is 990 % wide",
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        if (strstr(sentences, expected[i]) == NULL)
            fail_msg("'%s' is missing in:\n%s", expected[i], sentences);
    assert_int_equal(doubts.n, sizeof expected / sizeof expected[0]);
    doubts_release(&doubts);
    samples_release(&samples);
    machine_release(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_line),
        cmocka_unit_test(never_gives_a_negative_slope),
        cmocka_unit_test(refuses_what_is_no_line),
        cmocka_unit_test(finds_exact_parameters_and_thresholds),
        cmocka_unit_test(intervals_hold_the_parameters),
        cmocka_unit_test(told_rendezvous_holds),
        cmocka_unit_test_teardown(takes_each_benchmark_for_its_part, scratch_remove),
        cmocka_unit_test_teardown(refuses_malformed_samples, scratch_remove),
        cmocka_unit_test(refuses_malformed_thresholds),
        cmocka_unit_test_teardown(reports_what_is_suspicious, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

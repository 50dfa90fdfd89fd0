/* Tests probing.h, processor.h and samples.h: what a probe of the machine says, what is malformed, which samples are
 * left out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/samples/probing.h"
#include "calibrate/measure/processor.h"
#include "calibrate/samples/samples.h"
#include "tests/unit/scratch.h"

#include <cmocka.h> /* last: it defines fail as a macro */

#define HEADER                "benchmark,level,bytes,seconds,launch,waited\n"
#define PROBE(level, verdict) "# probe curves 1 2.5 " level " 2.5e-04 0.02 0 " verdict "\n"

static void writes_what_it_reads(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "probe curves 1 2.900 1.29875e-07 0.000259841 0.0412 0.0000 quiet",
        "probe eager 4000000000 0.100 - - - - quiet",
        "probe contention 3 86400.000 1e-06 1 1.0000 1.0000 steal",
        "probe curves 2 1.000 1e-07 - 0.5000 - waited",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char written[256] = "";
        struct probing probing;
        struct error error = {.text = ""};
        assert_true(probing_is_probe(texts[i]));
        if (probing_parse(texts[i], &probing, &error) != 0)
            fail_msg("%s: %s", texts[i], error.text);
        FILE *stream = fmemopen(written, sizeof written, "w");
        assert_non_null(stream);
        probing_write(stream, &probing);
        fclose(stream);
        assert_string_equal(written, texts[i]);
    }
    assert_false(probing_is_probe("probes"));
    assert_false(probing_is_probe("rendezvous intra_socket 4096 x"));
}

/* A bad probe comes behind good rows; the place is told, and nothing is read. */
static void refuses_what_is_none(void **state)
{
    (void)state;
    static const struct {
        const char *probe, *says;
    } cases[] = {
        {"# probe \n", "1 words, expected 9"},
        {"# probe curves 1 2.5 1e-07 2e-04 0.02 0\n", "8 words, expected 9"},
        {"# probe curves 1 2.5 1e-07 2e-04 0.02 0 quiet quiet\n", "10 words"},
        {"# probe curves -1 2.5 1e-07 2e-04 0.02 0 quiet\n", "launch '-1'"},
        {"# probe curves 4294967296 2.5 1e-07 2e-04 0.02 0 quiet\n", "launch '4294967296' is too large"},
        {"# probe curves 1 2.5 nan 2e-04 0.02 0 quiet\n", "small_s 'nan'"},
        {"# probe curves 1 2.5 1e-07 -2 0.02 0 quiet\n", "large_s -2: expected a number from 0"},
        {"# probe curves 1 2.5 1e-07 1e999 0.02 0 quiet\n", "large_s '1e999'"},
        {"# probe curves 1 2.5 1e-07 2e-04 1.5 0 quiet\n", "waited 1.5: expected a number from 0 to 1"},
        {"# probe curves 1 2.5 1e-07 2e-04 0.02 20 quiet\n", "steal 20"},
        {"# probe curves 1 2.5 1e-07 2e-04 0.02 0 loud\n", "verdict 'loud', expected quiet, waited, level or steal"},
        {"# probe a_program_of_a_very_long_name 1 2.5 1e-07 2e-04 0.02 0 quiet\n", "longer than"},
        {"# probe curves 1 2.5 1e-07 2e-04 0.02 0 quiet" /* cut off */, ""},
        {"pingpong,self,8,1e-07,1,2\n", "waited 2: expected a share"},
        {"pingpong,self,8,1e-07,1,x\n", "waited 'x'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        struct samples samples = {0};
        struct error error = {.text = ""};
        snprintf(text, sizeof text, "%s%s%s", HEADER "self,self,8,1e-07,1,0\n", PROBE("1e-07", "quiet"),
                 cases[i].probe);
        int result = samples_read_csv(scratch_text(text), &samples, &error);
        if (cases[i].says[0] == '\0')
            assert_int_equal(result, 0);
        else if (result == 0 || strstr(error.text, cases[i].says) == NULL || strstr(error.text, ":4: ") == NULL)
            fail_msg("case %zu: %d, %s", i, result, error.text);
        samples_release(&samples);
    }
}

/* Returns the verdict over the last of n probes of these small levels. */
static enum probing_verdict judge(const double *small_s, size_t n, double waited, double steal)
{
    struct probings probings = {0};
    for (size_t i = 0; i < n; i++) {
        struct probing probing = {.small_s = small_s[i], .large_s = NAN, .waited = waited, .steal = steal};
        probings_append(&probings, &probing);
    }
    enum probing_verdict verdict = probings_judge(&probings);
    probings_release(&probings);
    return verdict;
}

static void judges_levels(void **state)
{
    (void)state;
    static const double even[] = {1, 1.1, 0.95, 1, 1.02, 1.2}, slow[] = {1, 1.1, 0.95, 1, 1.02, 1.4},
                        fast[] = {1, 1.1, 0.95, 1, 1.02, 0.7}, before[] = {1, 1.1, 0.95, 1, 1.4, 1},
                        past[] = {1, 1.1, 0.95, 1.4, 1, 1}, few[] = {1, 1, 1, 2}, unknown[] = {1, 1, NAN, 1, 1, 1, NAN};
    assert_int_equal(judge(even, 6, 0, 0), PROBING_QUIET);
    assert_int_equal(judge(slow, 6, 0, 0), PROBING_LEVEL);
    assert_int_equal(judge(fast, 6, 0, 0), PROBING_LEVEL);
    assert_int_equal(judge(before, 6, 0, 0), PROBING_LEVEL); /* its begin */
    assert_int_equal(judge(past, 6, 0, 0), PROBING_QUIET);
    assert_int_equal(judge(few, 4, 0, 0), PROBING_QUIET);
    assert_int_equal(judge(unknown, 7, NAN, NAN), PROBING_QUIET);
    assert_int_equal(judge(NULL, 0, 0, 0), PROBING_QUIET);
    assert_int_equal(judge(even, 6, 0.2, 0), PROBING_WAITED);
    assert_int_equal(judge(even, 6, 0.2, 0.1), PROBING_STEAL);
    assert_int_equal(judge(even, 1, 0, 0.1), PROBING_STEAL);
}

static void judges_samples(void **state)
{
    (void)state;
    assert_false(probing_disturbs(PROBING_QUIET, 0.05));
    assert_false(probing_disturbs(PROBING_QUIET, NAN));
    assert_true(probing_disturbs(PROBING_QUIET, 0.2));
    assert_false(probing_disturbs(PROBING_WAITED, 0.05)); /* its own ranks did not wait */
    assert_true(probing_disturbs(PROBING_WAITED, NAN));
    assert_true(probing_disturbs(PROBING_LEVEL, 0));
    assert_true(probing_disturbs(PROBING_STEAL, NAN));
}

static void counts_waits_of_ranks_with_processors(void **state)
{
    (void)state;
    struct processor_use ranks[3] = {
        {.machine = 1, .time = {1, 1}}, {.machine = 1, .time = {2, 0}}, {.machine = 2, .time = {3, 3}}};
    double wanted_s, lost_s;
    for (int i = 0; i < 2; i++) {
        CPU_SET(0, &ranks[i].cpus);
        CPU_SET(1, &ranks[i].cpus);
    }
    CPU_SET(0, &ranks[2].cpus);
    processor_lost(ranks, 3, &wanted_s, &lost_s);
    assert_true(wanted_s == 10 && lost_s == 4);
    ranks[2].machine = 1; /* three on two */
    processor_lost(ranks, 3, &wanted_s, &lost_s);
    assert_true(wanted_s == 0 && lost_s == 0);
    processor_lost(ranks, 0, &wanted_s, &lost_s);
    assert_true(wanted_s == 0);
    struct processor_time begin = processor_now(), end;
    for (volatile int i = 0; i < 1000000; i++)
        ;
    end = processor_now();
    assert_true(end.run_s > begin.run_s && end.wait_s >= begin.wait_s);
}

static struct samples read(const char *text)
{
    struct samples samples = {0};
    struct error error = {.text = ""};
    if (samples_read_csv(scratch_text(text), &samples, &error) != 0)
        fail_msg("%s: %s", text, error.text);
    return samples;
}

#define POINTS_5(n)                                                                                                    \
    "self,self," n "1,1e-07,1,0\nself,self," n "2,1e-07,1,0\nself,self," n "3,1e-07,1,0\n"                             \
    "self,self," n "4,1e-07,1,0\nself,self," n "5,1e-07,1,0\n"
#define POINTS_20 POINTS_5("2") POINTS_5("3") POINTS_5("4") POINTS_5("5")
#define QUIET_3   "self,self,8,1e-07,1,0\nself,self,8,1.1e-07,1,0.1\nself,self,8,1.2e-07,1,\n"

static void leaves_out_what_was_repeated(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n_samples, n_disturbed, n_never_quiet;
    } cases[] = {
        {QUIET_3, 3, 0, 0},
        {QUIET_3 "self,self,8,9e-07,1,0.3\n", 3, 1, 0},                                         /* its ranks waited */
        {"self,self,8,9e-07,1,0.3\nself,self,8,8e-07,1,0.2\nself,self,8,1e-07,1,0\n", 1, 2, 0}, /* one is enough */
        {POINTS_20 "self,self,16,9e-07,1,0.3\n", 20, 1, 1},                       /* never quiet: left out */
        {POINTS_20 "self,self,16,9e-07,1,\n" PROBE("1e-07", "waited"), 21, 1, 0}, /* perhaps it was */
        {QUIET_3 "self,self,16,9e-07,1,0.3\n", 4, 1, 1},                          /* one of two points: no use */
        {"self,self,8,1e-07,1,0\n" PROBE("1e-07", "level"), 1, 1, 1},
        {QUIET_3 PROBE("1e-07", "quiet") "self,self,8,9e-07,1,0\n" PROBE("3e-07", "level"), 3, 1, 0},
        {QUIET_3 PROBE("1e-07", "quiet") "self,self,8,9e-07,1,0\n" PROBE("3e-07", "waited"), 4, 0, 0},
        {QUIET_3 PROBE("1e-07", "quiet") "self,self,8,9e-07,1,\n" PROBE("3e-07", "waited"), 3, 1, 0},
        {QUIET_3 PROBE("1e-07", "quiet") "self,self,8,9e-07,1,0\n# begin curves 1 9\n" PROBE("3e-07", "level"), 4, 0,
         0},
        {QUIET_3 "eager,intra_socket,8,1,1,0.9\n", 4, 0, 0}, /* a search: no time */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2048];
        snprintf(text, sizeof text, HEADER "%s", cases[i].text);
        struct samples samples = read(text);
        const struct disturbance *found = &samples.disturbance[BENCHMARK_SELF];
        if (samples.n_samples != cases[i].n_samples || found->n_disturbed != cases[i].n_disturbed ||
            found->n_never_quiet != cases[i].n_never_quiet)
            fail_msg("case %zu: %zu samples, %zu disturbed, %zu points never quiet", i, samples.n_samples,
                     found->n_disturbed, found->n_never_quiet);
        samples_release(&samples);
    }
    assert_int_equal(setenv("MPISTAIR_DISTURBED", "1", 1), 0);
    struct samples taken = read(HEADER POINTS_20 "self,self,16,9e-07,1,0.3\n");
    assert_int_equal(taken.n_samples, 21);
    samples_release(&taken);
    assert_int_equal(unsetenv("MPISTAIR_DISTURBED"), 0);
    /* Earlier versions wrote samples like these. */
    struct samples samples = read("level,bytes,seconds\nself,8,1e-07\n");
    assert_int_equal(samples.n_samples, 1);
    assert_int_equal(samples.probings.n, 0);
    samples_release(&samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(writes_what_it_reads, scratch_remove),
        cmocka_unit_test_teardown(refuses_what_is_none, scratch_remove),
        cmocka_unit_test(judges_levels),
        cmocka_unit_test(judges_samples),
        cmocka_unit_test(counts_waits_of_ranks_with_processors),
        cmocka_unit_test_teardown(leaves_out_what_was_repeated, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

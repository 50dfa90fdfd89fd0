/* Holds what the benchmark of fine-grained messaging knows without MPI: bytes of parts, the ring, the content that
 * tells a wrong part, options, and the result of given times. */
#include "calibrate/finegrain/finegrain_row.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "calibrate/finegrain/layout.h"

/* 1003 bytes in 4 parts: 250, 250, 250, 253; the last of 8 threads fills 127 of these. */
static void parts_and_partitions(void **state)
{
    (void)state;
    assert_int_equal(layout_part(1003, 4, 3).begin, 750);
    assert_int_equal(layout_part(1003, 4, 3).bytes, 253);
    assert_int_equal(layout_user(1003, 8, 4, 7).begin, 876);
    assert_int_equal(layout_user(1003, 8, 4, 7).bytes, 127);
    for (size_t bytes = 4; bytes < 70; bytes++) {
        size_t next = 0;
        for (size_t thread = 0; thread < 8; thread++) {
            struct byte_range own = layout_user(bytes, 8, 4, thread), part = layout_part(bytes, 4, thread / 2);
            assert_int_equal(own.begin, next);
            assert_true(own.begin >= part.begin && own.begin + own.bytes <= part.begin + part.bytes);
            next += own.bytes;
        }
        assert_int_equal(next, bytes);
    }
}

static void ring(void **state)
{
    (void)state;
    struct error error;
    const int expected[] = {1, -1, 2, -2, 3, -3};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(layout_distance(i, 7), expected[i]);
    assert_int_equal(layout_rank(0, -2, 7), 5);
    assert_int_equal(layout_buffers_per_rank(6, 7), 1);
    assert_int_equal(layout_buffers_per_rank(26, 27), 1);
    assert_int_equal(layout_buffers_per_rank(6, 2), 6);
    assert_int_equal(layout_buffers_per_rank(26, 2), 26);
    for (int ranks = 2; ranks < 30; ranks++) /* who sends buffer i to a rank is who expects so */
        for (size_t i = 0; i < 26; i++) {
            int to = layout_rank(3 % ranks, layout_distance(i, ranks), ranks);
            assert_int_not_equal(to, 3 % ranks);
            assert_int_equal(layout_rank(to, -layout_distance(i, ranks), ranks), 3 % ranks);
        }
    assert_int_equal(layout_check(6, 7, 0, &error), 0);
    assert_int_equal(layout_check(6, 2, 1, &error), 0);
    assert_int_equal(layout_check(6, 6, 0, &error), -1);
    assert_non_null(strstr(error.text, "--fold"));
    assert_int_equal(layout_check(6, 1, 1, &error), -1);
}

static void content(void **state)
{
    (void)state;
    enum { BYTES = 4096 };
    static char buffer[BYTES];
    const struct byte_range all = {.bytes = BYTES};
    layout_fill(buffer, all, 1, 2, 3);
    assert_int_equal(layout_differs(buffer, all, 1, 2, 3), BYTES);
    assert_true(layout_differs(buffer, all, 0, 2, 3) < 64);
    assert_true(layout_differs(buffer, all, 1, 3, 3) < 64);
    assert_true(layout_differs(buffer, all, 1, 2, 4) < 64);
    for (size_t shift = 1; shift < BYTES / 2; shift *= 2) { /* a part at the place of another */
        layout_fill(buffer, all, 1, 2, 3);
        memmove(buffer, buffer + shift, BYTES / 2);
        assert_true(layout_differs(buffer, all, 1, 2, 3) < 64);
    }
    layout_fill(buffer, all, 1, 2, 3);
    buffer[BYTES - 1] ^= 1;
    assert_int_equal(layout_differs(buffer, all, 1, 2, 3), BYTES - 1);
}

static void words(void **state)
{
    (void)state;
    struct finegrain_config config;
    struct finegrain_words words;
    finegrain_config_init(&config);
    assert_true(config.compute_s == 4194304e-9); /* 2^22 ns */
    config.interface = FINEGRAIN_RMA;
    config.rma = FINEGRAIN_PASSIVE;
    config.fold = config.verify = config.clears_cache = config.width_given = true;
    finegrain_config_words(&config, "fixed:a, b", &words);
    size_t n = 0;
    while (words.words[n] != NULL)
        n++;
    assert_true(n <= FINEGRAIN_WORDS);
    assert_string_equal(words.words[n - 1], "fixed:a, b");
    char joined[1024] = "";
    for (size_t i = 0; i < n; i++) {
        strcat(joined, words.words[i]);
        strcat(joined, " ");
    }
    assert_non_null(strstr(joined, "--interface rma --rma passive "));
    assert_non_null(strstr(joined, "--compute 0.0041943040000000003 "));
}

enum { PAIRS = 40 };

/* Makes samples of 2 trials of 20: BSP 1.00 to 1.39 s, fine 10 % less; the last thread overslept so much of 0.1 s. */
static struct finegrain_samples samples_of(double oversleep_s)
{
    struct finegrain_samples samples = {.n = 2 * PAIRS, .ranks = 7, .buffers_per_rank = 1};
    samples.samples = calloc(samples.n, sizeof *samples.samples);
    assert_non_null(samples.samples);
    for (unsigned i = 0; i < 2 * PAIRS; i++) {
        unsigned pair = (i / 2 * 7) % PAIRS;
        double seconds = 1 + 0.01 * pair;
        samples.samples[i] = (struct finegrain_sample){.trial = 1 + pair / 20,
                                                       .iteration = 1 + pair % 20,
                                                       .is_fine = i % 2,
                                                       .seconds = i % 2 ? 0.9 * seconds : seconds,
                                                       .last_arrival_s = 0.5,
                                                       .oversleep_s = oversleep_s,
                                                       .delay_s = 0.1,
                                                       .median_oversleep_s = 2e-3};
    }
    return samples;
}

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9))
        fail_msg("found %.12g, expected %.12g", found, expected);
}

/* The median of 40 is between 1.19 and 1.20; its bounds are the 14th and the 27th value, as the binomial says. Every
 * pair is 10 % apart, and so is every median of pairs that are drawn again. */
static void result(void **state)
{
    (void)state;
    struct finegrain_config config;
    struct finegrain_row row;
    struct error error;
    finegrain_config_init(&config);
    config.trials = 2;
    config.iterations = 20;
    struct finegrain_samples samples = samples_of(0.0099);
    assert_int_equal(finegrain_row_make(&config, "mpich", &samples, &row, &error), 0);
    near(row.bsp_s.value, 1.195);
    near(row.bsp_s.low, 1.13);
    near(row.bsp_s.high, 1.26);
    near(row.fine_s.value, 0.9 * 1.195);
    near(row.speedup_percent.value, 10);
    near(row.speedup_percent.low, 10);
    near(row.speedup_percent.high, 10);
    near(row.oversleep_s, 0.0099);
    near(row.median_oversleep_s, 2e-3);
    assert_string_equal(row.void_reason, "");
    finegrain_samples_release(&samples);
    samples = samples_of(0.0101);
    assert_int_equal(finegrain_row_make(&config, "mpich", &samples, &row, &error), 0);
    assert_string_not_equal(row.void_reason, "");
    assert_null(strchr(row.void_reason, ','));
    samples.samples[3].iteration = 1 + samples.samples[3].iteration % 20; /* one missing, one twice */
    assert_int_equal(finegrain_row_make(&config, "mpich", &samples, &row, &error), -1);
    finegrain_samples_release(&samples);
    samples = samples_of(0);
    samples.n -= 1;
    assert_int_equal(finegrain_row_make(&config, "mpich", &samples, &row, &error), -1);
    assert_non_null(strstr(error.text, "79 of 80"));
    finegrain_samples_release(&samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_and_partitions),
        cmocka_unit_test(ring),
        cmocka_unit_test(content),
        cmocka_unit_test(words),
        cmocka_unit_test(result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests the size that separates taken from refused messages: exact searches, wrong outcomes, several searches; and the
 * search itself, with refusals that are none. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/measure/plan.h"
#include "calibrate/fit/fits.h"
#include "calibrate/fit/thresholds.h"

#include <cmocka.h> /* last: it defines fail as a macro */

static void add(struct samples *samples, enum variant variant, uint64_t n, uint64_t bytes)
{
    struct sample sample = {.level = LEVEL_INTER_NODE,
                            .benchmark = BENCHMARK_EAGER,
                            .variant = (uint8_t)variant,
                            .n = n,
                            .bytes = bytes,
                            .seconds = 1};
    samples_append(samples, &sample);
}

static void expect(struct samples *samples, double bytes, double low, double high, size_t n_samples)
{
    struct boundary found;
    samples_sort(samples);
    assert_true(boundary_find(samples, BENCHMARK_EAGER, LEVEL_INTER_NODE, &found));
    if (!(found.bytes == bytes) || !(found.low == low) || !(found.high == high))
        fail_msg("%g in [%g, %g], expected %g in [%g, %g]", found.bytes, found.low, found.high, bytes, low, high);
    assert_int_equal(found.n_samples, n_samples);
    samples_release(samples);
}

static void exact(void **state)
{
    (void)state;
    struct samples samples = {0};
    add(&samples, VARIANT_TAKEN, 1, 1);
    add(&samples, VARIANT_TAKEN, 1, 64);
    add(&samples, VARIANT_REFUSED, 1, 65);
    add(&samples, VARIANT_REFUSED, 1, 128);
    add(&samples, VARIANT_REFUSED, 1, 65);
    expect(&samples, 65, 65, 65, 5);
    add(&samples, VARIANT_REFUSED, 1, 4096);
    add(&samples, VARIANT_TAKEN, 1, 1024);
    expect(&samples, 4096, 1025, 4096, 2);
}

static void one_outcome_only(void **state)
{
    (void)state;
    struct samples samples = {0};
    add(&samples, VARIANT_TAKEN, 1, 10);
    add(&samples, VARIANT_TAKEN, 1, 20);
    expect(&samples, INFINITY, 21, INFINITY, 2);
    add(&samples, VARIANT_REFUSED, 1, 10);
    add(&samples, VARIANT_REFUSED, 1, 20);
    expect(&samples, 10, 1, 10, 2);
}

static void wrong_outcomes(void **state)
{
    (void)state;
    struct samples samples = {0};
    /* A delay was taken for a refusal at 8; 100 is the cut with one wrong outcome. */
    for (uint64_t bytes = 1; bytes < 100; bytes++)
        add(&samples, bytes == 8 ? VARIANT_REFUSED : VARIANT_TAKEN, 1, bytes);
    for (uint64_t bytes = 100; bytes < 120; bytes++)
        add(&samples, VARIANT_REFUSED, 1, bytes);
    expect(&samples, 100, 8, 100, 119);
    /* The same size has both outcomes; the cuts at 2 and at 3 are equally good. */
    add(&samples, VARIANT_TAKEN, 1, 1);
    add(&samples, VARIANT_TAKEN, 1, 2);
    add(&samples, VARIANT_REFUSED, 1, 2);
    add(&samples, VARIANT_REFUSED, 1, 3);
    expect(&samples, 2, 2, 3, 4);
}

static void several_searches(void **state)
{
    (void)state;
    struct samples samples = {0};
    const uint64_t boundaries[] = {1300, 1000, 1100, 900, 1200};
    for (uint64_t i = 0; i < 5; i++) {
        add(&samples, VARIANT_TAKEN, i + 1, boundaries[i] - 1);
        add(&samples, VARIANT_REFUSED, i + 1, boundaries[i]);
    }
    /* A sixth one was cut off. */
    add(&samples, VARIANT_TAKEN, 6, 10);
    expect(&samples, 1100, 900, 1300, 10);
    /* With an even number of them the median is between the two in the middle; the cut-off one comes first here. */
    add(&samples, VARIANT_REFUSED, 1, 5);
    for (uint64_t i = 0; i < 4; i++) {
        add(&samples, VARIANT_TAKEN, i + 2, boundaries[i] - 1);
        add(&samples, VARIANT_REFUSED, i + 2, boundaries[i]);
    }
    expect(&samples, 1050, 900, 1300, 8);
}

static void other_samples(void **state)
{
    (void)state;
    struct samples samples = {0};
    struct boundary found = {.bytes = 7};
    assert_false(boundary_find(&samples, BENCHMARK_EAGER, LEVEL_INTER_NODE, &found));
    add(&samples, VARIANT_NONE, 1, 10);
    add(&samples, VARIANT_TAKEN, 1, 10);
    samples_sort(&samples);
    assert_false(boundary_find(&samples, BENCHMARK_BUFFER, LEVEL_INTER_NODE, &found));
    assert_false(boundary_find(&samples, BENCHMARK_EAGER, LEVEL_INTRA_SOCKET, &found));
    assert_true(found.bytes == 7);
    expect(&samples, INFINITY, 11, INFINITY, 1);
}

/* B is the largest size that is taken; a level where nothing was refused has none, and this is said. */
static void fits_a_buffer(void **state)
{
    (void)state;
    struct samples samples = {0};
    struct machine machine = {0};
    const struct fit_options options = {0};
    char *notes = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&notes, &size);
    assert_non_null(stream);
    add(&samples, VARIANT_TAKEN, 1, 999);
    add(&samples, VARIANT_REFUSED, 1, 1000);
    add(&samples, VARIANT_TAKEN, 2, 1999);
    add(&samples, VARIANT_REFUSED, 2, 2010);
    add(&samples, VARIANT_TAKEN, 1, 500);
    for (size_t i = 0; i < samples.n_samples; i++)
        samples.samples[i].benchmark = BENCHMARK_BUFFER;
    samples.samples[4].level = LEVEL_INTRA_SOCKET;
    samples_sort(&samples);
    fit_buffer(&(struct fit){&samples, &options, &machine, stream});
    fclose(stream);
    assert_int_equal(machine.n_parameters, 1);
    const struct machine_parameter *row = &machine.parameters[0];
    assert_int_equal(row->level, LEVEL_INTER_NODE);
    assert_int_equal(row->protocol, PROTOCOL_ANY);
    assert_string_equal(row->quantity, "buffer");
    assert_true(row->value == 1504 && row->ci_low == 999 && row->ci_high == 2009);
    assert_int_equal(row->samples, 4);
    assert_non_null(strstr(notes, "intra_socket buffer: left out: the transport took all that was tried, up to 500 B"));
    free(notes);
    machine_release(&machine);
    samples_release(&samples);
}

/* Searches for `boundary`, every `lie`th refusal of a first question being false (0: none). Returns the number of
 * questions. */
static unsigned search(struct bisection *bisection, uint64_t boundary, unsigned lie)
{
    unsigned asked = 0, lies = 0;
    bool again;
    for (uint64_t bytes; (bytes = bisection_next(bisection, &again)) > 0; asked++) {
        assert_true(asked < 1000);
        assert_true(bytes <= bisection->last_bytes);
        bool lied = lie > 0 && !again && lies < 3 && asked % lie == lie - 1;
        lies += lied;
        bisection_tell(bisection, bytes, bytes < boundary && !lied);
    }
    return asked;
}

static void bisects(void **state)
{
    (void)state;
    const uint64_t last = 1 << 24, boundaries[] = {1, 2, 3, 4041, 65536, last - 1, last};
    for (size_t i = 0; i < sizeof boundaries / sizeof boundaries[0]; i++)
        for (unsigned lie = 0; lie < 20; lie++) {
            struct bisection bisection = {.first_bytes = 1, .last_bytes = last};
            unsigned asked = search(&bisection, boundaries[i], lie);
            assert_int_equal(bisection.refused_bytes, boundaries[i]);
            assert_int_equal(bisection.taken_bytes, boundaries[i] - 1);
            assert_true(lie > 0 || asked <= 50);
        }
    struct bisection none = {.first_bytes = 1, .last_bytes = 1000};
    search(&none, 2000, 0);
    assert_int_equal(none.taken_bytes, 1000);
    assert_int_equal(none.refused_bytes, 0);
}

static void bisects_to_a_resolution(void **state)
{
    (void)state;
    struct bisection bisection = {.first_bytes = 1024, .last_bytes = 1 << 26, .resolution = 0.02};
    search(&bisection, 1234567, 0);
    assert_in_range(bisection.taken_bytes, 1234567 * 0.98, 1234566);
    assert_in_range(bisection.refused_bytes, 1234567, 1234567 * 1.02);
    /* The search begins above the boundary. */
    bisection = (struct bisection){.first_bytes = 1 << 22, .last_bytes = 1 << 26, .resolution = 0.02};
    search(&bisection, 5000, 0);
    assert_in_range(bisection.taken_bytes, 4900, 4999);
    assert_in_range(bisection.refused_bytes, 5000, 5100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact),          cmocka_unit_test(one_outcome_only),
        cmocka_unit_test(wrong_outcomes), cmocka_unit_test(several_searches),
        cmocka_unit_test(other_samples),  cmocka_unit_test(fits_a_buffer),
        cmocka_unit_test(bisects),        cmocka_unit_test(bisects_to_a_resolution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

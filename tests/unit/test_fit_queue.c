/* Tests queue steps from samples: a known step comes back, within its interval with noise; what is no linear search is
 * told apart; what was not measured gives no row. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fits.h"

#include <cmocka.h> /* last: it defines fail as a macro */

#define STEP_S    5e-9
#define MESSAGE_S 2e-7
enum { LISTS = 1021 };

static const uint64_t depths[] = {1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 10000};
enum { N_DEPTHS = sizeof depths / sizeof depths[0], N_FITTED = 9 };

static double linear(double n)
{
    return STEP_S * (n * (n + 1) / 2 - n);
}

/* Models a hash table: list i of 1021 has the entries i, i + 1021, ... and is searched linearly. */
static double hashed(double n)
{
    double longer = fmod(n, LISTS), k = floor(n / LISTS);
    return STEP_S * (longer * (k + 1) * k / 2 + (LISTS - longer) * k * (k - 1) / 2);
}

static double constant(double n)
{
    return 1e-7 * n;
}

static double faster(double n)
{
    return -0.1 * MESSAGE_S * n;
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

/* Says what a machine does, and how it is measured. */
struct made {
    double (*more_s)(double n); /* time that reversed takes longer */
    uint64_t last_depth;
    int samples;
    uint32_t launches;
    double noise; /* relative; above 0 with 2 % outliers at 10 times */
    double between_launches;
    uint64_t seed;
    bool only_inorder;
    uint8_t level;
};

static void make_samples(const struct made *made, struct samples *samples)
{
    uint64_t state = made->seed;
    for (uint32_t launch = 0; launch < made->launches; launch++) {
        double of_launch = 1 + made->between_launches * normal(&state);
        for (int i = 0; i < N_DEPTHS; i++)
            for (int variant = VARIANT_POSTED_INORDER; variant <= VARIANT_UNEXPECTED_REVERSED; variant++)
                for (int k = 0; k < made->samples && depths[i] <= made->last_depth; k++) {
                    double n = (double)depths[i], seconds = MESSAGE_S * n;
                    bool reversed = variant == VARIANT_POSTED_REVERSED || variant == VARIANT_UNEXPECTED_REVERSED;
                    if (reversed && made->only_inorder)
                        continue;
                    if (reversed)
                        seconds += made->more_s(n);
                    seconds *= of_launch * (1 + made->noise * normal(&state));
                    if (made->noise > 0 && uniform(&state) < 0.02)
                        seconds *= 10;
                    struct sample sample = {.seconds = seconds,
                                            .bytes = 8,
                                            .n = depths[i],
                                            .count = (uint32_t)depths[i],
                                            .launch = launch,
                                            .level = made->level,
                                            .benchmark = BENCHMARK_QUEUE,
                                            .variant = (uint8_t)variant};
                    samples_append(samples, &sample);
                }
    }
    samples_sort(samples);
}

/* Returns the table of samples made so; what was said goes to notes[512]. */
static struct machine fit_made(const struct made *made, char *notes)
{
    struct samples samples = {0};
    struct machine machine = {0};
    struct fit_options options = {0};
    struct error error;
    make_samples(made, &samples);
    FILE *stream = fmemopen(notes, 512, "w");
    assert_non_null(stream);
    fit_queue(&(struct fit){&samples, &options, &machine, stream});
    fclose(stream);
    assert_int_equal(machine_check(&machine, &error), 0);
    for (size_t i = 0; i < machine.n_parameters; i++) {
        const struct machine_parameter *row = &machine.parameters[i];
        assert_int_equal(machine_check_parameter(row, &error), 0);
        assert_int_equal(row->level, LEVEL_COUNT);
        assert_int_equal(row->protocol, PROTOCOL_ANY);
        assert_string_equal(row->unit, "s");
        assert_true(row->value >= 0 && !(row->ci_low > row->value) && !(row->ci_low < 0));
    }
    samples_release(&samples);
    return machine;
}

static void assert_methods(const struct machine *machine, size_t n_rows, const char *method)
{
    assert_int_equal(machine->n_parameters, n_rows);
    for (size_t i = 0; i < n_rows; i++)
        assert_string_equal(machine->parameters[i].method, method);
}

static void finds_a_known_step(void **state)
{
    (void)state;
    struct made made = {.more_s = linear, .last_depth = 10000, .samples = 3, .launches = 1, .level = LEVEL_INTER_NODE};
    char notes[512] = "";
    struct machine machine = fit_made(&made, notes);
    assert_methods(&machine, 2 * N_FITTED, "reversed-inorder");
    for (size_t i = 0; i < 2 * N_FITTED; i++) {
        const struct machine_parameter *row = &machine.parameters[i];
        assert_string_equal(row->quantity, i < N_FITTED ? "queue_step" : "queue_step_unexpected");
        assert_int_equal(row->n, depths[N_DEPTHS - N_FITTED + i % N_FITTED]);
        assert_int_equal(row->samples, 6);
        assert_true(fabs(row->value - STEP_S) <= 1e-9 * STEP_S);
    }
    assert_string_equal(notes, "");
    machine_release(&machine);
}

static void intervals_hold_the_step(void **state)
{
    (void)state;
    static const struct made cases[] = {
        {.more_s = linear, .last_depth = 10000, .samples = 4, .launches = 1, .noise = 0.05},
        {.more_s = linear, .last_depth = 10000, .samples = 6, .launches = 1, .noise = 0.05},
        {.more_s = linear, .last_depth = 10000, .samples = 20, .launches = 1, .noise = 0.05},
        {.more_s = linear, .last_depth = 10000, .samples = 5, .launches = 4, .noise = 0.05, .between_launches = 0.03},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int inside[2 * N_FITTED] = {0};
        for (uint64_t draw = 1; draw <= 100; draw++) {
            struct made made = cases[i];
            char notes[512] = "";
            made.seed = draw;
            struct machine machine = fit_made(&made, notes);
            assert_int_equal(machine.n_parameters, 2 * N_FITTED);
            for (size_t row = 0; row < 2 * N_FITTED; row++)
                inside[row] += machine.parameters[row].ci_low <= STEP_S && STEP_S <= machine.parameters[row].ci_high;
            machine_release(&machine);
        }
        int least = 100;
        for (size_t row = 0; row < 2 * N_FITTED; row++)
            least = inside[row] < least ? inside[row] : least;
        print_message("%d samples of each of %u launches: at least %d of 100 intervals hold the step\n",
                      cases[i].samples, cases[i].launches, least);
        for (size_t row = 0; row < 2 * N_FITTED; row++)
            if (inside[row] < 90)
                fail_msg("case %zu, row %zu: in %d of 100 intervals", i, row, inside[row]);
    }
}

static void tells_what_is_no_linear_search(void **state)
{
    (void)state;
    static const struct made cases[] = {
        {.more_s = hashed, .last_depth = 10000, .samples = 12, .launches = 1, .noise = 0.05, .seed = 1},
        {.more_s = hashed, .last_depth = 10000, .samples = 3, .launches = 1},
        {.more_s = constant, .last_depth = 10000, .samples = 12, .launches = 1, .noise = 0.05, .seed = 2},
        {.more_s = constant, .last_depth = 256, .samples = 12, .launches = 1},
        {.more_s = faster, .last_depth = 10000, .samples = 12, .launches = 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char notes[512] = "";
        struct machine machine = fit_made(&cases[i], notes);
        assert_methods(&machine, cases[i].last_depth == 256 ? 6 : 2 * N_FITTED, QUEUE_NOT_LINEAR);
        if (strstr(notes, "the posted queue is not searched linearly (reversed takes ") != notes ||
            strstr(notes, "\nthe unexpected queue is not searched linearly (reversed takes ") == NULL)
            fail_msg("case %zu says: %s", i, notes);
        machine_release(&machine);
    }
}

/* Few samples with outliers have wide intervals, yet all reversed ones are far from all in order. */
static void tells_a_linear_search_from_few_samples(void **state)
{
    (void)state;
    int wide = 0;
    for (uint64_t draw = 1; draw <= 100; draw++) {
        struct made made = {
            .more_s = linear, .last_depth = 10000, .samples = 3, .launches = 1, .noise = 0.05, .seed = draw};
        char notes[512] = "";
        struct machine machine = fit_made(&made, notes);
        assert_methods(&machine, 2 * N_FITTED, "reversed-inorder");
        assert_string_equal(notes, "");
        wide += !(machine.parameters[N_FITTED - 1].ci_low > 0);
        machine_release(&machine);
    }
    assert_true(wide > 0); /* else the test shows nothing */
}

/* Noise, or too few samples, leave both open: the rows stay, and a note says so. */
static void says_what_cannot_be_told(void **state)
{
    (void)state;
    static const struct {
        struct made made;
        const char *says;
    } cases[] = {
        {{.more_s = linear, .last_depth = 10000, .samples = 1, .launches = 1}, "126 times in order at 10000, from too"},
        {{.more_s = constant, .last_depth = 128, .samples = 6, .launches = 1, .noise = 0.5, .seed = 1},
         "it is unclear whether the posted queue is searched linearly (reversed takes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char notes[512] = "";
        struct machine machine = fit_made(&cases[i].made, notes);
        assert_methods(&machine, cases[i].made.last_depth == 128 ? 4 : 2 * N_FITTED, "reversed-inorder");
        if (strstr(notes, cases[i].says) == NULL)
            fail_msg("case %zu says: %s", i, notes);
        assert_true(i > 0 || isnan(machine.parameters[0].ci_low));
        machine_release(&machine);
    }
}

static void leaves_out_what_was_not_measured(void **state)
{
    (void)state;
    struct made made = {.more_s = linear, .last_depth = 16, .samples = 3, .launches = 1};
    char notes[512] = "";
    struct machine machine = fit_made(&made, notes);
    assert_int_equal(machine.n_parameters, 0);
    assert_non_null(strstr(notes, "queue_step left out: no depth from 64 on"));
    made = (struct made){.more_s = linear, .last_depth = 10000, .samples = 3, .launches = 1, .only_inorder = true};
    machine = fit_made(&made, notes);
    assert_int_equal(machine.n_parameters, 0);
    assert_non_null(strstr(notes, "queue_step_unexpected left out: "));
    made.last_depth = 0; /* no samples at all: nothing to say */
    notes[0] = '\0';
    machine = fit_made(&made, notes);
    assert_int_equal(machine.n_parameters, 0);
    assert_string_equal(notes, "");
}

/* Samples of two levels and two sizes come together: the closest level counts, and one size against itself. */
static void does_not_mix(void **state)
{
    (void)state;
    struct samples samples = {0};
    struct machine machine = {0};
    struct fit_options options = {0};
    static const struct {
        uint8_t level, variant;
        uint64_t bytes;
        double seconds;
    } rows[] = {
        {LEVEL_INTRA_SOCKET, VARIANT_POSTED_INORDER, 8, 1},    {LEVEL_INTRA_SOCKET, VARIANT_POSTED_REVERSED, 8, 2},
        {LEVEL_INTRA_SOCKET, VARIANT_POSTED_INORDER, 1024, 5}, {LEVEL_INTRA_SOCKET, VARIANT_POSTED_REVERSED, 1024, 9},
        {LEVEL_INTER_NODE, VARIANT_POSTED_INORDER, 8, 10},     {LEVEL_INTER_NODE, VARIANT_POSTED_REVERSED, 8, 30},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sample sample = {.level = rows[i].level,
                                .variant = rows[i].variant,
                                .bytes = rows[i].bytes,
                                .seconds = rows[i].seconds,
                                .benchmark = BENCHMARK_QUEUE,
                                .n = 64,
                                .count = 64};
        samples_append(&samples, &sample);
    }
    samples_sort(&samples);
    char notes[512] = "";
    FILE *stream = fmemopen(notes, sizeof notes, "w");
    fit_queue(&(struct fit){&samples, &options, &machine, stream});
    fclose(stream);
    assert_int_equal(machine.n_parameters, 1);
    assert_true(fabs(machine.parameters[0].value * 2016 - 1) < 1e-12); /* 64 * 65 / 2 - 64 */
    assert_non_null(strstr(notes, "queue_step is taken from intra_socket"));
    assert_non_null(strstr(notes, "queue_step_unexpected left out"));
    machine_release(&machine);
    samples_release(&samples);
}

/* Seconds near the largest double give no row rather than one that no reader takes. */
static void survives_huge_times(void **state)
{
    (void)state;
    struct samples samples = {0};
    struct machine machine = {0};
    struct fit_options options = {0};
    for (int i = 0; i < 8; i++) {
        struct sample sample = {.variant = i % 2 == 0 ? VARIANT_POSTED_INORDER : VARIANT_POSTED_REVERSED,
                                .seconds = i % 2 == 0 ? 1e-300
                                           : i < 4    ? 1e308
                                                      : 1.5e308,
                                .benchmark = BENCHMARK_QUEUE,
                                .n = i < 4 ? 64 : 128,
                                .count = 64,
                                .level = LEVEL_INTRA_SOCKET};
        samples_append(&samples, &sample);
    }
    samples_sort(&samples);
    fit_queue(&(struct fit){&samples, &options, &machine, NULL});
    for (size_t i = 0; i < machine.n_parameters; i++) {
        assert_true(isfinite(machine.parameters[i].value));
        assert_false(isinf(machine.parameters[i].ci_low) || isinf(machine.parameters[i].ci_high));
    }
    machine_release(&machine);
    samples_release(&samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_known_step),
        cmocka_unit_test(intervals_hold_the_step),
        cmocka_unit_test(tells_what_is_no_linear_search),
        cmocka_unit_test(tells_a_linear_search_from_few_samples),
        cmocka_unit_test(says_what_cannot_be_told),
        cmocka_unit_test(leaves_out_what_was_not_measured),
        cmocka_unit_test(does_not_mix),
        cmocka_unit_test(survives_huge_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests the model of fine-grained messages: worked values, the closed form of one late thread, and laws that hold for
 * every problem. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/tables/finegrain.h"
#include "tests/models/cases.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { MAX_THREADS = 64, CASES = 3000 };

/* Holds a problem with its arrivals. */
struct made {
    struct finegrain_problem problem;
    double arrivals_s[MAX_THREADS], scratch_s[MAX_THREADS];
};

static struct finegrain_times times_of(struct made *made)
{
    struct finegrain_times times;
    made->problem.arrivals_s = made->arrivals_s;
    finegrain_predict(&made->problem, made->scratch_s, &times);
    return times;
}

static double speedup(struct made *made)
{
    struct finegrain_times times = times_of(made);
    return finegrain_speedup_percent(times.bsp_s, times.fine_s);
}

/* Makes six peers, 1 MiB each, at 12e9 B/s with 2 us, of 32 threads of which one is 4 % late. */
static void make_worked(struct made *made, uint32_t parts)
{
    *made = (struct made){.problem = {.peers = 6,
                                      .bytes = 1 << 20,
                                      .threads = 32,
                                      .parts = parts,
                                      .tau_s = 2e-6,
                                      .tau_fine_s = 2e-6,
                                      .bytes_per_s = 12e9,
                                      .fine_bytes_per_s = 12e9}};
    for (uint32_t i = 0; i < 32; i++)
        made->arrivals_s[i] = 4.194304e-3 * (i == 11 ? 1.04 : 1);
}

static void worked(void **state)
{
    (void)state;
    static const struct {
        uint32_t parts;
        double fine_us, speedup_percent;
    } expected[] = {{1, 4898.36416, 0},   {2, 4742.592, 3.180},   {4, 4766.592, 2.690},
                    {8, 4814.592, 1.710}, {16, 4910.592, -0.250}, {32, 5102.592, -4.169}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct made made;
        make_worked(&made, expected[i].parts);
        struct finegrain_times times = times_of(&made);
        assert_true(fabs(times.bsp_s * 1e6 - 4898.36416) < 1e-6);
        assert_true(fabs(times.fine_s * 1e6 - expected[i].fine_us) < 6e-4);
        assert_true(fabs(speedup(&made) - expected[i].speedup_percent) < 6e-4);
        assert_close(times.bound_s, 4.36207616e-3 + 6 * 1048576 / 12e9 / expected[i].parts, 1e-12);
    }
}

/* Draws a real number from 0 to `most`; often one of its ends. */
static double chance_real(struct chance *chance, double most)
{
    uint64_t kind = chance_below(chance, 8);
    return kind == 0 ? 0 : kind == 1 ? most : most * (double)chance_below(chance, 1u << 30) / (1u << 30);
}

static void make_random(struct made *made, struct chance *chance)
{
    static const uint32_t parts[] = {1, 2, 3, 4, 8, 16};
    uint32_t k = parts[chance_below(chance, 6)], bin = 1 + (uint32_t)chance_below(chance, 4);
    double bytes_per_s = 1e8 + chance_real(chance, 2e10);
    *made = (struct made){.problem = {.peers = 1 + (uint32_t)chance_below(chance, 26),
                                      .bytes = chance_below(chance, 1 << 22),
                                      .threads = k * bin,
                                      .parts = k,
                                      .tau_s = chance_real(chance, 1e-5),
                                      .tau_fine_s = chance_real(chance, 1e-5),
                                      .bytes_per_s = bytes_per_s,
                                      .fine_bytes_per_s = bytes_per_s,
                                      .queue_s = chance_real(chance, 1e-6)}};
    made->problem.queue_fine_s = made->problem.queue_s * (1 + (double)chance_below(chance, 100));
    double spread_s = chance_real(chance, 1e-2);
    for (uint32_t i = 0; i < made->problem.threads; i++)
        made->arrivals_s[i] = 1e-3 + chance_real(chance, spread_s);
}

static void one_part_at_the_same_cost_changes_nothing(void **state)
{
    (void)state;
    struct chance chance = {.state = 21};
    for (int i = 0; i < CASES; i++) {
        struct made made;
        make_random(&made, &chance);
        made.problem.parts = 1;
        made.problem.tau_fine_s = made.problem.tau_s;
        made.problem.queue_fine_s = made.problem.queue_s;
        assert_true(fabs(speedup(&made)) < 1e-10);
    }
}

/* Where all are done at the same time, parts of an interface that costs no less bring nothing. */
static void equal_arrivals_never_gain(void **state)
{
    (void)state;
    struct chance chance = {.state = 22};
    for (int i = 0; i < CASES; i++) {
        struct made made;
        make_random(&made, &chance);
        made.problem.tau_fine_s = made.problem.tau_s + chance_real(&chance, 1e-6);
        for (uint32_t t = 0; t < made.problem.threads; t++)
            made.arrivals_s[t] = 2e-3;
        assert_true(speedup(&made) < 1e-10);
    }
}

/* Never less than the bound; and where every part is through before the next is ready, above it by the last part's
 * messages alone: without their cost it is the bound. */
static void bound(void **state)
{
    (void)state;
    struct chance chance = {.state = 23};
    for (int i = 0; i < CASES; i++) {
        struct made made;
        make_random(&made, &chance);
        struct finegrain_times times = times_of(&made);
        assert_true(times.fine_s >= times.bound_s * (1 - 1e-12));
        double part_s = finegrain_part_s(&made.problem);
        for (uint32_t t = 0; t < made.problem.threads; t++)
            made.arrivals_s[t] = 1e-3 + 1.001 * part_s * t;
        times = times_of(&made);
        double messages_s =
            made.problem.peers * made.problem.tau_fine_s + made.problem.queue_fine_s / made.problem.parts;
        assert_close(times.fine_s, times.bound_s + messages_s, 1e-12);
        made.problem.tau_fine_s = made.problem.queue_fine_s = 0;
        times = times_of(&made);
        assert_close(times.fine_s, times.bound_s, 1e-12);
    }
}

/* The order of threads within their bins, and of whole bins, is nothing to the times. */
static void order_does_not_matter(void **state)
{
    (void)state;
    struct chance chance = {.state = 24};
    for (int i = 0; i < CASES; i++) {
        struct made made;
        make_random(&made, &chance);
        struct finegrain_times before = times_of(&made);
        uint32_t parts = made.problem.parts, bin = made.problem.threads / parts;
        for (uint32_t t = 0; t < made.problem.threads; t++) {
            uint32_t other = t / bin * bin + (uint32_t)chance_below(&chance, bin);
            double kept_s = made.arrivals_s[t];
            made.arrivals_s[t] = made.arrivals_s[other];
            made.arrivals_s[other] = kept_s;
        }
        double shuffled_s[MAX_THREADS];
        uint32_t shift = (uint32_t)chance_below(&chance, parts);
        for (uint32_t part = 0; part < parts; part++)
            memcpy(&shuffled_s[(part + shift) % parts * bin], &made.arrivals_s[part * bin], bin * sizeof *shuffled_s);
        memcpy(made.arrivals_s, shuffled_s, made.problem.threads * sizeof *shuffled_s);
        struct finegrain_times after = times_of(&made);
        assert_memory_equal(&before, &after, sizeof before);
    }
}

/* Returns fine_s in closed form where all threads are done after compute_s, but one is delay_s late. */
static double laggard_s(const struct finegrain_problem *problem, double compute_s, double delay_s)
{
    double part_s = finegrain_part_s(problem);
    double begin_s = compute_s + (problem->is_late ? delay_s : 0);
    return fmax(begin_s + (problem->parts - 1) * part_s, compute_s + delay_s) + part_s;
}

static void laggard_in_closed_form(void **state)
{
    (void)state;
    struct chance chance = {.state = 25};
    for (int i = 0; i < CASES; i++) {
        struct made made;
        make_random(&made, &chance);
        made.problem.is_late = i % 3 == 0;
        double compute_s = chance_real(&chance, 1e-2), delay_s = chance_real(&chance, 1e-2);
        uint32_t late = (uint32_t)chance_below(&chance, made.problem.threads);
        for (uint32_t t = 0; t < made.problem.threads; t++)
            made.arrivals_s[t] = compute_s + (t == late ? delay_s : 0);
        assert_close(laggard_s(&made.problem, compute_s, delay_s), times_of(&made).fine_s, 1e-12);
    }
}

/* Later arrivals, more bytes and a dearer interface never make either way faster. */
static void nothing_more_is_faster(void **state)
{
    (void)state;
    struct chance chance = {.state = 26};
    for (int i = 0; i < CASES; i++) {
        struct made made;
        make_random(&made, &chance);
        struct finegrain_times before = times_of(&made);
        made.arrivals_s[chance_below(&chance, made.problem.threads)] += chance_real(&chance, 1e-3);
        made.problem.bytes += chance_below(&chance, 1 << 16);
        made.problem.tau_fine_s += chance_real(&chance, 1e-6);
        struct finegrain_times after = times_of(&made);
        assert_true(after.fine_s >= before.fine_s * (1 - 1e-12));
        assert_true(after.bsp_s >= before.bsp_s * (1 - 1e-12));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked),
        cmocka_unit_test(one_part_at_the_same_cost_changes_nothing),
        cmocka_unit_test(equal_arrivals_never_gain),
        cmocka_unit_test(bound),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(laggard_in_closed_form),
        cmocka_unit_test(nothing_more_is_faster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What must hold for every pattern: random cases with fixed seeds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "staircase.h"
#include "traffic.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { CASES = 400 };

static const char *const models[] = {"postal", "max-rate",  "node-aware",    "staircase",
                                     "flow",   "staggered", "flow-staggered"};
enum { N_MODELS = sizeof models / sizeof models[0] };

static const enum latency_side sides[] = {LATENCY_IN, LATENCY_OUT, LATENCY_MAX};

/* Of times that are sums of terms in another order: 1e-9 of the value, or 1e-18 s. */
static void assert_same(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected) + 1e-18))
        fail_msg("%.17g, expected %.17g", value, expected);
}

/* t_i^recv of all ranks of the case with an incoming volume, by T7 or by T12-T17. */
static size_t receive(const struct traffic *traffic, bool mixed, struct competitor *competitors)
{
    struct bandwidth_steps steps;
    size_t n = 0;
    for (size_t rank = 0; rank < traffic->n_ranks; rank++) {
        double volume = traffic_bytes(traffic, rank, INCOMING, ALL_LEVELS);
        if (volume > 0)
            competitors[n++] = (struct competitor){.rank = (uint32_t)rank, .volume = volume, .rest = volume};
    }
    assert_int_equal(bandwidth_steps_init(&steps, traffic, traffic->n_ranks), 0);
    if (mixed)
        assert_int_equal(staircase_receive_mixed(traffic, ALL_LEVELS, &steps, competitors, n), 0);
    else if (n > 0)
        staircase_receive_even(0, &steps, competitors, n);
    bandwidth_steps_release(&steps);
    return n;
}

/* Puts all ranks on one socket: theta = 1. */
static void on_one_socket(struct model_case *c)
{
    memset(c->placement.node, 0, c->placement.n_ranks * sizeof *c->placement.node);
    memset(c->placement.socket, 0, c->placement.n_ranks * sizeof *c->placement.socket);
}

static void theta_one_is_one_level(void **state)
{
    (void)state;
    struct chance chance = {.state = 1};
    for (int i = 0; i < CASES; i++) {
        struct model_case c;
        struct traffic traffic;
        struct error error;
        struct competitor even[40], mixed[40];
        case_random(&c, &chance, false);
        on_one_socket(&c);
        assert_int_equal(traffic_init(&traffic, &c.pattern, &c.placement, &c.machine, &error), 0);
        size_t n = receive(&traffic, false, even);
        assert_int_equal(receive(&traffic, true, mixed), n);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(mixed[k].rank, even[k].rank); /* ties by rank in both */
            assert_same(mixed[k].recv_s, even[k].recv_s);
        }
        traffic_release(&traffic);
        case_release(&c);
    }
}

static void more_to_a_rank_is_never_faster_for_it(void **state)
{
    (void)state;
    struct chance chance = {.state = 2};
    for (int i = 0; i < CASES; i++) {
        struct model_case c;
        struct error error;
        double before_s[40] = {0}, after_s[40] = {0};
        case_random(&c, &chance, false);
        on_one_socket(&c);
        uint32_t receiver = 0;
        for (int added = 0; added < 2; added++) {
            struct traffic traffic;
            struct competitor competitors[40];
            assert_int_equal(traffic_init(&traffic, &c.pattern, &c.placement, &c.machine, &error), 0);
            size_t n = receive(&traffic, false, competitors);
            for (size_t k = 0; k < n; k++)
                (added ? after_s : before_s)[competitors[k].rank] = competitors[k].recv_s;
            traffic_release(&traffic);
            if (added || c.placement.n_ranks < 2)
                break;
            receiver = (uint32_t)chance_below(&chance, c.placement.n_ranks);
            case_add(&c, (receiver + 1) % (uint32_t)c.placement.n_ranks, receiver, chance_below(&chance, 1000000));
        }
        if (c.placement.n_ranks > 1 && after_s[receiver] < before_s[receiver] * (1 - 1e-12))
            fail_msg("case %d, rank %u: %.17g, before %.17g", i, receiver, after_s[receiver], before_s[receiver]);
        case_release(&c);
    }
}

/* New names for the ranks, another order of the messages: the same times under the new names. */
static void ranks_have_no_names(void **state)
{
    (void)state;
    struct chance chance = {.state = 3};
    for (int i = 0; i < CASES; i++) {
        struct model_case c, renamed = {0};
        uint32_t name[40];
        case_random(&c, &chance, i % 2 == 1);
        size_t n_ranks = c.placement.n_ranks, n_messages = c.pattern.n_messages;
        for (uint32_t rank = 0; rank < n_ranks; rank++) {
            size_t other = chance_below(&chance, rank + 1);
            name[rank] = name[other];
            name[other] = rank;
        }
        case_place(&renamed, n_ranks, NULL, NULL);
        for (size_t rank = 0; rank < n_ranks; rank++) {
            renamed.placement.node[name[rank]] = 7 - c.placement.node[rank] / 10;
            renamed.placement.socket[name[rank]] = 5 + c.placement.socket[rank];
        }
        for (size_t m = n_messages; m-- > 0;)
            case_add(&renamed, name[c.pattern.src[m]], name[c.pattern.dst[m]], c.pattern.bytes[m]);
        for (size_t k = 0; k < c.machine.n_parameters; k++)
            assert_int_equal(machine_append(&renamed.machine, &c.machine.parameters[k]), 0);
        for (size_t m = 0; m < N_MODELS; m++) {
            struct prediction first = case_predict(&c, models[m], sides[i % 3]);
            struct prediction second = case_predict(&renamed, models[m], sides[i % 3]);
            for (size_t rank = 0; rank < n_ranks; rank++)
                assert_same(second.time_s[name[rank]], first.time_s[rank]);
            assert_int_equal(first.extrapolated, second.extrapolated);
            prediction_release(&first);
            prediction_release(&second);
        }
        case_release(&c);
        case_release(&renamed);
    }
}

/* Without latency, sizes times k (and thresholds with them) give times by k. */
static void times_scale_with_sizes(void **state)
{
    (void)state;
    struct chance chance = {.state = 4};
    for (int i = 0; i < CASES; i++) {
        struct model_case c;
        struct prediction before[N_MODELS];
        uint64_t k = 2 + chance_below(&chance, 1000);
        case_random(&c, &chance, i % 2 == 1);
        for (size_t r = 0; r < c.machine.n_parameters; r++)
            if (strcmp(c.machine.parameters[r].quantity, "tau") == 0)
                c.machine.parameters[r].value = 0;
        for (size_t m = 0; m < N_MODELS; m++)
            before[m] = case_predict(&c, models[m], LATENCY_IN);
        for (size_t m = 0; m < c.pattern.n_messages; m++)
            c.pattern.bytes[m] *= k;
        for (size_t r = 0; r < c.machine.n_parameters; r++)
            if (strcmp(c.machine.parameters[r].quantity, "threshold") == 0)
                c.machine.parameters[r].value *= (double)k;
        for (size_t m = 0; m < N_MODELS; m++) {
            struct prediction after = case_predict(&c, models[m], LATENCY_IN);
            for (size_t rank = 0; rank < c.placement.n_ranks; rank++)
                assert_same(after.time_s[rank], (double)k * before[m].time_s[rank]);
            prediction_release(&before[m]);
            prediction_release(&after);
        }
        case_release(&c);
    }
}

/* Parts add up; nothing is negative or NaN; who has nothing to do needs no time;
 * empty messages cost latency alone. */
static void results_are_plausible(void **state)
{
    (void)state;
    struct chance chance = {.state = 5};
    for (int i = 0; i < CASES; i++) {
        struct model_case c;
        bool busy[40] = {false};
        case_random(&c, &chance, i % 2 == 1);
        if (i % 5 == 0)
            memset(c.pattern.bytes, 0, c.pattern.n_messages * sizeof *c.pattern.bytes);
        for (size_t m = 0; m < c.pattern.n_messages; m++)
            if (c.pattern.src[m] != c.pattern.dst[m])
                busy[c.pattern.src[m]] = busy[c.pattern.dst[m]] = true;
        for (size_t m = 0; m < N_MODELS; m++) {
            struct prediction p = case_predict(&c, models[m], sides[i % 3]);
            for (size_t rank = 0; rank < c.placement.n_ranks; rank++) {
                double parts_s = 0;
                for (size_t part = 0; part < PART_COUNT; part++) {
                    assert_true(p.part_s[part][rank] >= 0);
                    parts_s += p.part_s[part][rank];
                }
                assert_true(isfinite(p.time_s[rank]));
                assert_close(parts_s, p.time_s[rank], 1e-15);
                assert_true(busy[rank] || p.time_s[rank] <= 0);
                assert_true(i % 5 != 0 || p.part_s[PART_BANDWIDTH][rank] <= 0);
            }
            prediction_release(&p);
        }
        case_release(&c);
    }
}

/* A pair alone: nobody else, so no contention, however many messages it exchanges. */
static void alone_is_without_contention(void **state)
{
    (void)state;
    struct chance chance = {.state = 6};
    for (int i = 0; i < CASES; i++) {
        struct model_case c;
        case_random(&c, &chance, i % 2 == 1);
        for (size_t m = 0; m < c.pattern.n_messages; m++) {
            c.pattern.src[m] = 0;
            c.pattern.dst[m] = (uint32_t)c.placement.n_ranks - 1;
        }
        for (size_t m = 0; m < N_MODELS; m++) {
            struct prediction p = case_predict(&c, models[m], sides[i % 3]);
            for (size_t rank = 0; rank < c.placement.n_ranks; rank++)
                assert_true(p.part_s[PART_CONTENTION][rank] <= 0);
            prediction_release(&p);
        }
        case_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theta_one_is_one_level), cmocka_unit_test(more_to_a_rank_is_never_faster_for_it),
        cmocka_unit_test(ranks_have_no_names),    cmocka_unit_test(times_scale_with_sizes),
        cmocka_unit_test(results_are_plausible),  cmocka_unit_test(alone_is_without_contention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

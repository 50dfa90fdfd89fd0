/* Tests what must hold for every pattern, by random cases with fixed seeds. Papers are named as in share/doc/MODELS.md.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/models/cases.h"
#include "predictor/models/staircase.h"
#include "predictor/pattern/traffic.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { CASES = 400 };

static const char *const models[] = {"postal",        "max-rate", "node-aware", "staircase",
                                     "staircase-max", "serial",   "flow",       "flow-window"};
enum { N_MODELS = sizeof models / sizeof models[0] };

static const enum latency_side sides[] = {LATENCY_IN, LATENCY_OUT, LATENCY_MAX};

/* Compares times that are sums of terms in another order: to 1e-9 of the value, or 1e-18 s. */
static void assert_same(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected) + 1e-18))
        fail_msg("%.17g, expected %.17g", value, expected);
}

/* Computes t_i^recv of all ranks of the case with an incoming volume, by T7 or by T12-T17. */
static size_t receive(const struct traffic *traffic, bool mixed, struct competitor *competitors)
{
    struct bandwidth_steps steps;
    size_t n = 0;
    for (size_t rank = 0; rank < traffic->n_ranks; rank++) {
        double volume = traffic_bytes(traffic, rank, INCOMING, ALL_LEVELS);
        if (volume > 0)
            competitors[n++] = (struct competitor){.rank = (uint32_t)rank, .volume = volume, .rest = volume};
    }
    bandwidth_steps_init(&steps, traffic, traffic->n_ranks);
    if (mixed)
        staircase_receive_mixed(traffic, ALL_LEVELS, &steps, competitors, n);
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
        assert_int_equal(traffic_init(&traffic, &c.pattern, &c.placement, &c.machine, 1, &error), 0);
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
            assert_int_equal(traffic_init(&traffic, &c.pattern, &c.placement, &c.machine, 1, &error), 0);
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

/* Adds memory contention to the machine. */
static void contend_for_memory(struct model_case *c)
{
    static const struct {
        const char *quantity, *unit;
        double value;
    } rows[] = {{"memory_cores_par", "1", 2},        {"memory_total_par", "B/s", 30e9},
                {"memory_cores_seq", "1", 3},        {"memory_total_seq", "B/s", 28e9},
                {"memory_total_par2", "B/s", 29e9},  {"memory_alpha", "1", 0.5},
                {"memory_loss_left", "B/s", 1e9},    {"memory_loss_right", "B/s", 0},
                {"memory_computation", "B/s", 12e9}, {"memory_message", "B/s", 10e9}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        case_value(c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, rows[i].quantity, 0, rows[i].value, rows[i].unit);
}

/* Adds the values for which the terms ask. */
static void with_terms(struct model_case *c)
{
    case_value(c, LEVEL_COUNT, PROTOCOL_ANY, "queue_step", 64, 5e-9, "s");
    case_value(c, LEVEL_COUNT, PROTOCOL_ANY, "queue_step_unexpected", 64, 7e-9, "s");
    case_value(c, LEVEL_COUNT, PROTOCOL_ANY, "delta", 0, 1e-10, "s/B");
    contend_for_memory(c);
}

/* Returns the model by itself, or with the term of the case: over all cases all models with all terms. */
static const struct model_term *term_of_case(int i)
{
    size_t n_terms = 0;
    while (term_table[n_terms] != NULL)
        n_terms++;
    return term_table[(size_t)i % (n_terms + 1)]; /* NULL behind the last */
}

static const char *name_of(const struct model *model, const struct model_term *term)
{
    static char name[64];
    snprintf(name, sizeof name, "%s%s%s", model->name, term != NULL ? "+" : "", term != NULL ? term->name : "");
    return name;
}

/* Returns c with other names of its ranks, nodes and sockets, its messages in another order; B7's cube takes nodes in
 * ascending order, so that there they keep it. */
static struct model_case rename_all(const struct model_case *c, const uint32_t *name, bool nodes_in_order)
{
    struct model_case renamed = {0};
    case_place(&renamed, c->placement.n_ranks, NULL, NULL);
    for (size_t rank = 0; rank < c->placement.n_ranks; rank++) {
        uint32_t node = c->placement.node[rank] / 10;
        renamed.placement.node[name[rank]] = nodes_in_order ? 3 + node : 7 - node;
        renamed.placement.socket[name[rank]] = 5 + c->placement.socket[rank];
    }
    for (size_t m = c->pattern.n_messages; m-- > 0;)
        case_add(&renamed, name[c->pattern.src[m]], name[c->pattern.dst[m]], pattern_bytes(&c->pattern, m));
    for (size_t k = 0; k < c->machine.n_parameters; k++)
        machine_append(&renamed.machine, &c->machine.parameters[k]);
    return renamed;
}

/* Times stay the same under the new names, for all models and terms. */
static void ranks_have_no_names(void **state)
{
    (void)state;
    struct chance chance = {.state = 3};
    for (int i = 0; i < CASES; i++) {
        struct model_case c;
        uint32_t name[40];
        const struct model_term *term = term_of_case(i);
        case_random(&c, &chance, i % 2 == 1);
        with_terms(&c);
        size_t n_ranks = c.placement.n_ranks;
        for (uint32_t rank = 0; rank < n_ranks; rank++) {
            size_t other = chance_below(&chance, rank + 1);
            name[rank] = name[other];
            name[other] = rank;
        }
        struct model_case renamed = rename_all(&c, name, term != NULL && term->topology);
        for (size_t m = 0; model_table[m] != NULL; m++) {
            struct prediction first = case_predict(&c, name_of(model_table[m], term), sides[i % 3]);
            struct prediction second = case_predict(&renamed, name_of(model_table[m], term), sides[i % 3]);
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

/* One message alone costs tau + s/BW(1) in every model: its receiver, or in node-aware, which knows senders only, its
 * sender. */
static void one_message_is_postal(void **state)
{
    (void)state;
    struct chance chance = {.state = 7};
    for (int i = 0; i < CASES; i++) {
        struct model_case c;
        case_random(&c, &chance, i % 2 == 1);
        c.pattern.n_messages = 0;
        uint32_t dst = (uint32_t)c.placement.n_ranks - 1;
        case_add(&c, 0, dst, chance_below(&chance, 300000));
        struct prediction postal = case_predict(&c, "postal", LATENCY_IN);
        for (size_t m = 0; model_table[m] != NULL; m++) {
            struct prediction p = case_predict(&c, model_table[m]->name, LATENCY_IN);
            assert_same(p.time_s[strcmp(model_table[m]->name, "node-aware") == 0 ? 0 : dst], postal.time_s[dst]);
            prediction_release(&p);
        }
        prediction_release(&postal);
        case_release(&c);
    }
}

/* staircase-max is a lower bound of T18's sum, at least half of it, and the same where one of the parts is nothing. */
static void larger_part_bounds_the_sum(void **state)
{
    (void)state;
    struct chance chance = {.state = 8};
    for (int i = 0; i < CASES; i++) {
        struct model_case c;
        case_random(&c, &chance, i % 2 == 1);
        if (i % 4 == 0)
            on_one_socket(&c);
        for (uint32_t rank = 0; i % 4 == 1 && rank < c.placement.n_ranks; rank++)
            c.placement.node[rank] = rank;
        struct prediction sum = case_predict(&c, "staircase", sides[i % 3]);
        struct prediction larger = case_predict(&c, "staircase-max", sides[i % 3]);
        for (size_t rank = 0; rank < c.placement.n_ranks; rank++) {
            double sum_s = sum.time_s[rank], larger_s = larger.time_s[rank];
            assert_true(larger_s <= sum_s * (1 + 1e-12) && 2 * larger_s >= sum_s * (1 - 1e-12));
            if (i % 4 < 2)
                assert_same(larger_s, sum_s);
        }
        prediction_release(&sum);
        prediction_release(&larger);
        case_release(&c);
    }
}

/* A term adds to its own part and takes nothing away; the steps counted in queues lie within n(n + 1)/2, whatever the
 * order. */
static void terms_add(void **state)
{
    (void)state;
    struct chance chance = {.state = 9};
    for (int i = 0; i < CASES; i++) {
        struct model_case c;
        double incoming[40] = {0};
        const struct model_term *term = term_of_case(i);
        case_random(&c, &chance, i % 2 == 1);
        with_terms(&c);
        for (size_t m = 0; m < c.pattern.n_messages; m++)
            incoming[c.pattern.dst[m]] += c.pattern.src[m] != c.pattern.dst[m];
        for (size_t m = 0; model_table[m] != NULL && term != NULL; m++) {
            struct prediction alone = case_predict(&c, model_table[m]->name, LATENCY_IN);
            struct prediction with = case_predict(&c, name_of(model_table[m], term), LATENCY_IN);
            enum prediction_part own = term->topology ? PART_LINK : term->computing ? PART_MEMORY : PART_QUEUE;
            for (size_t rank = 0; rank < c.placement.n_ranks; rank++) {
                double n = incoming[rank];
                assert_same(with.time_s[rank], alone.time_s[rank] + with.part_s[own][rank]);
                assert_true(with.part_s[own][rank] >= 0);
                assert_true(with.part_s[PART_QUEUE][rank] <= 7e-9 * n * (n + 1) / 2 * (1 + 1e-12));
            }
            prediction_release(&alone);
            prediction_release(&with);
        }
        case_release(&c);
    }
}

/* Without latency, sizes times k (and thresholds with them) give times by k, except for TCP, whose windows are bytes.
 */
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
            pattern_set_bytes(&c.pattern, m, k * pattern_bytes(&c.pattern, m));
        for (size_t r = 0; r < c.machine.n_parameters; r++)
            if (strcmp(c.machine.parameters[r].quantity, "threshold") == 0)
                c.machine.parameters[r].value *= (double)k;
        for (size_t m = 0; m < N_MODELS; m++) {
            struct prediction after = case_predict(&c, models[m], LATENCY_IN);
            bool scales = !model_find(models[m])->repeats;
            for (size_t rank = 0; scales && rank < c.placement.n_ranks; rank++)
                assert_same(after.time_s[rank], (double)k * before[m].time_s[rank]);
            prediction_release(&before[m]);
            prediction_release(&after);
        }
        case_release(&c);
    }
}

/* Parts add up; nothing is negative or NaN; a rank that has nothing to do needs no time; empty messages cost latency
 * alone. */
static void results_are_plausible(void **state)
{
    (void)state;
    struct chance chance = {.state = 5};
    for (int i = 0; i < CASES; i++) {
        struct model_case c;
        bool busy[40] = {false};
        const struct model_term *term = term_of_case(i);
        case_random(&c, &chance, i % 2 == 1);
        with_terms(&c);
        if (i % 5 == 0)
            for (size_t m = 0; m < c.pattern.n_messages; m++)
                pattern_set_bytes(&c.pattern, m, 0);
        for (size_t m = 0; m < c.pattern.n_messages; m++)
            if (c.pattern.src[m] != c.pattern.dst[m])
                busy[c.pattern.src[m]] = busy[c.pattern.dst[m]] = true;
        for (size_t m = 0; model_table[m] != NULL; m++) {
            struct prediction p = case_predict(&c, name_of(model_table[m], term), sides[i % 3]);
            for (size_t rank = 0; rank < c.placement.n_ranks; rank++) {
                double parts_s = 0;
                for (size_t part = 0; part < PART_COUNT; part++) {
                    assert_true(p.part_s[part][rank] >= 0);
                    parts_s += p.part_s[part][rank];
                }
                assert_true(isfinite(p.time_s[rank]));
                assert_close(parts_s, p.time_s[rank], 1e-12);
                assert_true(busy[rank] || p.time_s[rank] <= 0);
                assert_true(i % 5 != 0 || p.part_s[PART_BANDWIDTH][rank] <= 0);
            }
            prediction_release(&p);
        }
        case_release(&c);
    }
}

/* A pair that is alone has no contention, however many messages it exchanges. */
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

/* Predicts all models of a case, prepared once for all of them or for each anew. */
static void predict_all(const struct model_case *c, bool together, struct prediction *predictions)
{
    const struct model_options options = {.latency = LATENCY_IN};
    struct model_choice choices[MAX_MODELS] = {0};
    struct model_round round = {0};
    struct error error = {.text = ""};
    size_t n = 0;
    for (; model_table[n] != NULL; n++) {
        assert_int_equal(model_choose(model_table[n]->name, &choices[n]), 0);
        prediction_init(&predictions[n], c->placement.n_ranks);
    }
    if (together &&
        model_round_init(&round, &c->pattern, &c->placement, &c->machine, &options, choices, n, 2, &error) != 0)
        fail_msg("%s", error.text);
    for (size_t m = n; m-- > 0;)
        if ((together ? model_round_predict(&round, &choices[m], &predictions[m], &error)
                      : model_choice_predict(&choices[m], &c->pattern, &c->placement, &c->machine, &options,
                                             &predictions[m], &error)) != 0)
            fail_msg("%s: %s", choices[m].name, error.text);
    model_round_release(&round);
}

/* Models that share what was prepared of a round, and sizes held in 64 bits instead of 32, change no digit. */
static void storage_changes_nothing(void **state)
{
    (void)state;
    struct chance chance = {.state = 12};
    for (int i = 0; i < CASES; i++) {
        struct model_case c;
        struct prediction predictions[3][MAX_MODELS] = {0};
        case_random(&c, &chance, i % 2 == 1);
        if (c.pattern.n_messages == 0) {
            case_release(&c);
            continue;
        }
        assert_null(c.pattern.wide_bytes);
        predict_all(&c, false, predictions[0]);
        predict_all(&c, true, predictions[1]);
        uint64_t bytes = pattern_bytes(&c.pattern, 0);
        pattern_set_bytes(&c.pattern, 0, UINT64_C(1) << 32);
        assert_true(c.pattern.wide_bytes != NULL && pattern_bytes(&c.pattern, 0) == UINT64_C(1) << 32);
        pattern_set_bytes(&c.pattern, 0, bytes);
        predict_all(&c, true, predictions[2]);
        for (size_t m = 0; model_table[m] != NULL; m++)
            for (size_t way = 0; way < 3; way++) {
                assert_memory_equal(predictions[way][m].time_s, predictions[0][m].time_s,
                                    c.placement.n_ranks * sizeof(double));
                assert_int_equal(predictions[way][m].extrapolated, predictions[0][m].extrapolated);
            }
        for (size_t m = 0; model_table[m] != NULL; m++)
            for (size_t way = 0; way < 3; way++)
                prediction_release(&predictions[way][m]);
        case_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theta_one_is_one_level),
        cmocka_unit_test(more_to_a_rank_is_never_faster_for_it),
        cmocka_unit_test(one_message_is_postal),
        cmocka_unit_test(larger_part_bounds_the_sum),
        cmocka_unit_test(terms_add),
        cmocka_unit_test(ranks_have_no_names),
        cmocka_unit_test(times_scale_with_sizes),
        cmocka_unit_test(results_are_plausible),
        cmocka_unit_test(alone_is_without_contention),
        cmocka_unit_test(storage_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

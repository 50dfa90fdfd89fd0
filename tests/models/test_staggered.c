/* Tests staggered and flow-staggered: share/doc/MODELS.md's worked value E, cases worked by hand, and what must hold
 * for every pattern. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/models/cases.h"
#include "predictor/models/staggered.h"
#include "predictor/models/staircase.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { CASES = 300 };

static const unsigned WITHIN = LEVEL_BIT(LEVEL_INTRA_SOCKET) | LEVEL_BIT(LEVEL_INTER_SOCKET);

static void add_at(struct model_case *c, uint32_t src, uint32_t dst, uint64_t bytes, double send_us, double recv_us)
{
    double send_s = send_us * 1e-6, recv_s = recv_us * 1e-6;
    case_add(c, src, dst, bytes);
    assert_int_equal(pattern_set_posts(&c->pattern, &send_s, &recv_s), 0);
}

static void assert_us(const struct prediction *p, const double *time_us, const double *skew_us)
{
    for (size_t rank = 0; rank < p->n_ranks; rank++) {
        double parts_s = 0;
        for (int part = 0; part < PART_COUNT; part++)
            parts_s += p->part_s[part][rank];
        assert_close(p->time_s[rank] * 1e6, time_us[rank], 1e-9);
        assert_close(parts_s, p->time_s[rank], 1e-12);
        if (fabs(p->part_s[PART_SKEW][rank] * 1e6 - skew_us[rank]) > 1e-9)
            fail_msg("rank %zu: skew %.17g us, expected %g", rank, p->part_s[PART_SKEW][rank] * 1e6, skew_us[rank]);
    }
}

/* E: two ranks receive 1e6 bytes each, the second pair starts 50 us late; then only its sender is late. Latency is 1.7.
 */
static void worked_e(void **state)
{
    (void)state;
    static const double skew_us[2][4] = {{0, 0, 0, 0}, {0, 50, 0, 0}};
    double first_us = 50 + 49e4 / 8.4e3, last_us = first_us + 51e4 / 10.2e3;
    assert_close(first_us, 108.333333333, 1e-9);
    assert_close(last_us, 158.333333333, 1e-9);
    for (int late_sender = 0; late_sender < 2; late_sender++) {
        struct model_case c = {0};
        case_machine(&c, "epyc-rome");
        case_place(&c, 4, NULL, NULL);
        add_at(&c, 2, 0, 1000000, 0, 0);
        add_at(&c, 3, 1, 1000000, 50, late_sender ? 0 : 50);
        const double time_us[] = {first_us + 1.7, last_us + 1.7 - (late_sender ? 0 : 50), first_us, last_us - 50};
        struct prediction p = case_predict(&c, "staggered", LATENCY_IN);
        assert_us(&p, time_us, skew_us[late_sender]);
        prediction_release(&p);
        case_release(&c);
    }
    struct model_case together = {0};
    case_machine(&together, "epyc-rome");
    case_place(&together, 4, NULL, NULL);
    case_add(&together, 2, 0, 1000000);
    case_add(&together, 3, 1, 1000000);
    struct prediction p = case_predict(&together, "staggered", LATENCY_IN);
    assert_close(p.time_s[0] * 1e6 - 1.7, 119.047619048, 1e-9);
    assert_close(p.time_s[1] * 1e6 - 1.7, 119.047619048, 1e-9);
    prediction_release(&p);
    case_release(&together);
}

/* Makes a machine of 1 us and 1 GB/s for any number of ranks, with two protocols: 10 kB and more wait for the receiver.
 */
static void simple_machine(struct model_case *c)
{
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++)
        for (enum machine_protocol protocol = PROTOCOL_EAGER; protocol <= PROTOCOL_RENDEZVOUS; protocol++) {
            case_value(c, level, protocol, "tau", 0, 1e-6, "s");
            case_value(c, level, protocol, "bw", 1, 1e9, "B/s");
            if (protocol == PROTOCOL_RENDEZVOUS)
                case_value(c, level, protocol, "threshold", 0, 10000, "B");
        }
}

static void eager_does_not_wait(void **state)
{
    (void)state;
    static const double none[] = {0, 0};
    for (int model = 0; model < 2; model++) {
        struct model_case eager = {.machine = {.name = "simple"}}, rendezvous = {.machine = {.name = "simple"}};
        static const uint32_t node[] = {0, 1};
        const char *name = model == 0 ? "staggered" : "flow-staggered";
        simple_machine(&eager);
        simple_machine(&rendezvous);
        case_place(&eager, 2, node, NULL);
        case_place(&rendezvous, 2, node, NULL);
        /* The message is 8 us on the way, and there long before it is asked for: no more than the latency counts. The
         * sender is free at once. */
        add_at(&eager, 0, 1, 8000, 0, 100);
        struct prediction p = case_predict(&eager, name, LATENCY_IN);
        assert_us(&p, (const double[]){0, 1}, none);
        prediction_release(&p);
        /* It takes 20 us from the later post, for which the sender waits. */
        add_at(&rendezvous, 0, 1, 20000, 0, 100);
        p = case_predict(&rendezvous, name, LATENCY_IN);
        assert_us(&p, (const double[]){120, 21}, (const double[]){100, 0});
        prediction_release(&p);
        case_release(&eager);
        case_release(&rendezvous);
    }
}

/* Latencies and what T18 adds pass while a rank waits for another partner. */
static void pauses_hide(void **state)
{
    (void)state;
    struct model_case c = {.machine = {.name = "simple"}};
    static const uint32_t node[] = {0, 0, 1, 1};
    simple_machine(&c);
    case_place(&c, 4, node, NULL);
    /* Rank 0 receives 20 us within the node and 30 us between nodes, both from 0 on; then comes a pause until 100, and
     * 40 us more. The pause of 100 - 30 us takes two latencies and 20 us; the latency of the last message is left. */
    add_at(&c, 1, 0, 20000, 0, 0);
    add_at(&c, 2, 0, 30000, 0, 0);
    add_at(&c, 3, 0, 40000, 100, 0);
    struct prediction p = case_predict(&c, "staggered", LATENCY_IN);
    assert_us(&p, (const double[]){141, 20, 30, 40}, (const double[]){48, 0, 0, 0});
    prediction_release(&p);
    /* Without a pause both count in full: T18. */
    c.pattern.n_messages = 2;
    p = case_predict(&c, "staggered", LATENCY_IN);
    assert_us(&p, (const double[]){52, 20, 30, 0}, (const double[]){0, 0, 0, 0});
    prediction_release(&p);
    case_release(&c);
}

/* Two flows leave one node for two others, 1 GB/s a NIC, 10 kB that the transport takes. */
static void flows_by_hand(void **state)
{
    (void)state;
    struct model_case c = {.machine = {.name = "simple"}};
    static const uint32_t node[] = {0, 0, 1, 2};
    simple_machine(&c);
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "buffer", 0, 10000, "B");
    case_place(&c, 4, node, NULL);
    /* From 0 to 40 us the first is alone: 40 of 80 kB; then both go at half, 80 us each: 40 kB are through of the
     * second, which has 60 left. All of it must leave the node before the send is over. */
    add_at(&c, 0, 2, 80000, 0, 0);
    add_at(&c, 1, 3, 100000, 40, 40);
    struct prediction p = case_predict(&c, "flow-staggered", LATENCY_IN);
    assert_us(&p, (const double[]){120, 140, 121, 141}, (const double[]){0, 0, 0, 0});
    prediction_release(&p);
    /* Two nodes send to one: both at half, 200 us, the last 10 kB of each for the receiver only. */
    c.pattern.n_messages = 0;
    add_at(&c, 2, 0, 100000, 0, 0);
    add_at(&c, 3, 0, 100000, 0, 0);
    p = case_predict(&c, "flow-staggered", LATENCY_IN);
    assert_us(&p, (const double[]){202, 0, 180, 180}, (const double[]){0, 0, 0, 0});
    prediction_release(&p);
    case_release(&c);
}

/* If all start together, receives end as T7's and T14's t_i^recv; with any protocols, levels and numbers of ranks. */
static void equal_starts_receive_as_the_staircase(void **state)
{
    (void)state;
    static const unsigned levels[] = {LEVEL_BIT(LEVEL_INTER_NODE), WITHIN};
    static const enum group_by by[] = {GROUP_BY_NODE, GROUP_BY_SOCKET};
    struct chance chance = {.state = 11};
    for (int i = 0; i < CASES; i++) {
        struct model_case c;
        struct traffic traffic;
        struct moves moves;
        struct error error;
        case_random(&c, &chance, i % 2 == 1);
        for (size_t k = 0; i % 3 == 0 && k < c.pattern.n_messages; k++)
            c.pattern.bytes[k] = c.pattern.bytes[k] / 100000 * 100000; /* ties */
        assert_int_equal(traffic_init(&traffic, &c.pattern, &c.placement, &c.machine, &error), 0);
        for (size_t part = 0; part < 2; part++) {
            struct grouping groups;
            struct bandwidth_steps steps;
            size_t extrapolated = 0;
            double last_s[40] = {0};
            assert_int_equal(moves_init(&moves, &traffic, false), 0);
            assert_int_equal(staggered_move(&traffic, &c.placement, levels[part], by[part], &moves, &extrapolated), 0);
            for (size_t k = 0; k < c.pattern.n_messages; k++)
                last_s[c.pattern.dst[k]] = fmax(last_s[c.pattern.dst[k]], *moves_delivered_s(&moves, k));
            moves_release(&moves);
            assert_int_equal(grouping_init(&groups, &c.placement, by[part]), 0);
            assert_int_equal(bandwidth_steps_init(&steps, &traffic, groups.largest), 0);
            for (size_t g = 0; g < groups.n_groups; g++) {
                struct competitor competitors[40];
                size_t n = 0;
                for (size_t at = groups.first[g]; at < groups.first[g + 1]; at++) {
                    double volume = traffic_bytes(&traffic, groups.member[at], INCOMING, levels[part]);
                    if (volume > 0)
                        competitors[n++] =
                            (struct competitor){.rank = groups.member[at], .volume = volume, .rest = volume};
                }
                assert_int_equal(staircase_receive_mixed(&traffic, levels[part], &steps, competitors, n), 0);
                for (size_t r = 0; r < n; r++) {
                    assert_close(last_s[competitors[r].rank], competitors[r].recv_s, 1e-9);
                    last_s[competitors[r].rank] = 0;
                }
            }
            for (size_t rank = 0; rank < c.placement.n_ranks; rank++)
                assert_true(last_s[rank] <= 0); /* who gets nothing has received nothing */
            bandwidth_steps_release(&steps);
            grouping_release(&groups);
        }
        traffic_release(&traffic);
        case_release(&c);
    }
}

/* Where T9 is exact (a rank's share BW(n)/n is the same for all n) all of T18 is the same; flow without buffers between
 * nodes always is. */
static void equal_starts_reduce(void **state)
{
    (void)state;
    static const enum latency_side sides[] = {LATENCY_IN, LATENCY_OUT, LATENCY_MAX};
    struct chance chance = {.state = 12};
    for (int i = 0; i < CASES; i++) {
        struct model_case c;
        case_random(&c, &chance, false);
        bool between = i % 2 == 1;
        for (size_t r = 0; r < c.machine.n_parameters; r++)
            if (!between && strcmp(c.machine.parameters[r].quantity, "bw") == 0)
                c.machine.parameters[r].value =
                    1e9 * (double)(c.machine.parameters[r].n * c.machine.parameters[r].level);
        for (uint64_t n = 32; !between && n <= 64; n *= 2)
            for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++)
                case_value(&c, level, PROTOCOL_ANY, "bw", n, 1e9 * (double)(n * level), "B/s");
        if (between) {
            for (size_t rank = 0; rank < c.placement.n_ranks; rank++)
                c.placement.node[rank] = (uint32_t)(rank % 7);
            for (size_t k = 0; k < c.pattern.n_messages; k++)
                if (c.pattern.dst[k] % 7 == c.pattern.src[k] % 7)
                    c.pattern.bytes[k] = 0;
        }
        struct prediction plain = case_predict(&c, between ? "flow" : "staircase", sides[i % 3]);
        struct prediction timed = case_predict(&c, between ? "flow-staggered" : "staggered", sides[i % 3]);
        assert_int_equal(plain.extrapolated, timed.extrapolated);
        for (size_t rank = 0; rank < c.placement.n_ranks; rank++) {
            assert_close(timed.time_s[rank], plain.time_s[rank], 1e-9);
            assert_true(timed.part_s[PART_SKEW][rank] <= 0);
        }
        prediction_release(&plain);
        prediction_release(&timed);
        case_release(&c);
    }
}

static void random_posts(struct model_case *c, struct chance *chance)
{
    size_t n = c->pattern.n_messages;
    double *times_s = malloc((2 * n + 1) * sizeof *times_s);
    assert_non_null(times_s);
    for (size_t k = 0; k < 2 * n; k++)
        times_s[k] = (double)chance_below(chance, 1000) * 1e-6;
    c->pattern.n_messages = 0;
    for (size_t k = 0; k < n; k++) { /* sets the times of the message appended last, as a reader does */
        c->pattern.n_messages++;
        assert_int_equal(pattern_set_posts(&c->pattern, &times_s[2 * k], &times_s[2 * k + 1]), 0);
    }
    free(times_s);
}

/* A clock that is set otherwise changes nothing; a rank's round is no shorter than its posts are apart; no part is
 * negative; they add up. */
static void any_starts(void **state)
{
    (void)state;
    static const char *const models[] = {"staggered", "flow-staggered"};
    struct chance chance = {.state = 13};
    for (int i = 0; i < CASES; i++) {
        struct model_case c;
        double first_s[40], last_s[40];
        case_random(&c, &chance, i % 2 == 1);
        random_posts(&c, &chance);
        for (size_t rank = 0; rank < 40; rank++) {
            first_s[rank] = INFINITY;
            last_s[rank] = -INFINITY;
        }
        for (size_t k = 0; k < c.pattern.n_messages; k++) {
            const uint32_t ends[] = {c.pattern.src[k], c.pattern.dst[k]};
            const double posts_s[] = {c.pattern.send_s[k], c.pattern.recv_s[k]};
            for (int end = 0; end < 2 && ends[0] != ends[1]; end++) {
                first_s[ends[end]] = fmin(first_s[ends[end]], posts_s[end]);
                last_s[ends[end]] = fmax(last_s[ends[end]], posts_s[end]);
            }
        }
        for (int m = 0; m < 2; m++) {
            struct prediction before = case_predict(&c, models[m], LATENCY_IN);
            for (size_t k = 0; k < c.pattern.n_messages; k++) {
                c.pattern.send_s[k] += m == 0 ? 1 : -1;
                c.pattern.recv_s[k] += m == 0 ? 1 : -1;
            }
            struct prediction after = case_predict(&c, models[m], LATENCY_IN);
            for (size_t rank = 0; rank < c.placement.n_ranks; rank++) {
                double parts_s = 0;
                for (int part = 0; part < PART_COUNT; part++) {
                    assert_true(before.part_s[part][rank] >= 0);
                    parts_s += before.part_s[part][rank];
                }
                assert_close(parts_s, before.time_s[rank], 1e-12);
                assert_true(fabs(after.time_s[rank] - before.time_s[rank]) < 1e-12);
                if (first_s[rank] < INFINITY)
                    assert_true(before.time_s[rank] >= (last_s[rank] - first_s[rank]) * (1 - 1e-9));
                else
                    assert_true(before.time_s[rank] <= 0);
            }
            prediction_release(&before);
            prediction_release(&after);
        }
        case_release(&c);
    }
}

/* Absurd values end in an error, not in a loop. */
static void out_of_range(void **state)
{
    (void)state;
    static const char *const models[] = {"staggered", "flow-staggered"};
    static const uint32_t node[] = {0, 0, 1};
    for (int m = 0; m < 2; m++) {
        struct model_case c = {.machine = {.name = "absurd"}};
        struct error error = {.text = ""};
        struct prediction prediction;
        struct model_options options = {.latency = LATENCY_IN};
        for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
            case_value(&c, level, PROTOCOL_ANY, "tau", 0, 0, "s");
            case_value(&c, level, PROTOCOL_ANY, "bw", 1, 1e-307, "B/s");
        }
        case_place(&c, 3, node, NULL);
        for (uint32_t k = 0; k < 12; k++)
            case_add(&c, k % 3, (k + 1 + k % 2) % 3, 1000000000000 + k);
        assert_int_equal(prediction_init(&prediction, 3), 0);
        assert_int_equal(
            model_predict(model_find(models[m]), &c.pattern, &c.placement, &c.machine, &options, &prediction, &error),
            -1);
        assert_non_null(strstr(error.text, "out of range"));
        prediction_release(&prediction);
        case_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_e),
        cmocka_unit_test(eager_does_not_wait),
        cmocka_unit_test(pauses_hide),
        cmocka_unit_test(flows_by_hand),
        cmocka_unit_test(equal_starts_receive_as_the_staircase),
        cmocka_unit_test(equal_starts_reduce),
        cmocka_unit_test(any_starts),
        cmocka_unit_test(out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

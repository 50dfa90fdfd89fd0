/* Tests share/doc/MODELS.md's worked values A, B and C, and hand-worked cases of what they leave out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include "tests/models/cases.h"
#include "predictor/models/staircase.h"
#include "predictor/pattern/traffic.h"

#include <cmocka.h> /* last: it defines fail as a macro */

/* A follows T5-T6: three pairs exchange 2e6, 1e6, 5e5 bytes. */
static void worked_a(void **state)
{
    (void)state;
    struct model_case c = {0};
    case_machine(&c, "thunderx2");
    case_place(&c, 6, NULL, NULL);
    for (uint32_t pair = 0; pair < 3; pair++) {
        case_add(&c, 2 * pair, 2 * pair + 1, 2000000u >> pair);
        case_add(&c, 2 * pair + 1, 2 * pair, 2000000u >> pair);
    }
    static const double us[] = {321.165949781, 321.165949781, 184.179648411,
                                184.179648411, 105.748275862, 105.748275862};
    assert_times(&c, "staircase", LATENCY_IN, us);
    struct prediction prediction = case_predict(&c, "staircase", LATENCY_IN);
    assert_int_equal(prediction.extrapolated, 0);
    prediction_release(&prediction);
    case_release(&c);
}

/* B follows T7-T9 and T10: several neighbours on one socket. */
static void worked_b(void **state)
{
    (void)state;
    struct model_case c = {0};
    case_machine(&c, "epyc-rome");
    case_place(&c, 3, NULL, NULL);
    case_add(&c, 0, 1, 500000);
    case_add(&c, 0, 2, 100000);
    case_add(&c, 1, 0, 200000);
    case_add(&c, 1, 2, 300000);
    case_add(&c, 2, 0, 600000);
    static const double staircase_us[] = {114.483968471, 83.372203765, 114.483968471};
    static const double max_rate_us[] = {81.831372549, 50.719607843, 42.615686275};
    assert_times(&c, "staircase", LATENCY_IN, staircase_us);
    assert_times(&c, "max-rate", LATENCY_IN, max_rate_us);
    /* Rank 0: in 2 x 1.7 + 8e5/10.2e3 = 81.831; out 2 x 1.7 + 6e5/10.2e3 = 62.223. Rank 2: out 1.7 + 6e5/10.2e3. */
    static const double postal_us[] = {3.4 + 8e5 / 10.2e3, 3.4 + 5e5 / 10.2e3, 1.7 + 6e5 / 10.2e3};
    assert_times(&c, "postal", LATENCY_IN, postal_us);
    assert_times(&c, "node-aware", LATENCY_IN, (const double[]){62.223529412, 52.419607843, 60.523529412});
    /* Rank 0 takes 2e5 bytes of rank 1 or 6e5 of rank 2 first. Rank 1 is over when it has received all, 81.672 us, or
     * with rank 0; rank 2 when 6e5 bytes are at rank 0, 91.476 us, or with it. */
    const double first_us = 81.672203765 + 1e5 / 10.2e3;
    const double serial_us[] = {114.483968471, 1.7 + (81.672203765 + 111.083968471) / 2,
                                3.4 + (first_us + 111.083968471) / 2};
    assert_times(&c, "serial", LATENCY_IN, serial_us);
    /* Messages in: 2, 1, 2; out: 2, 2, 1; tau = 1.7. */
    static const double out_us[] = {114.483968471, 83.372203765 + 1.7, 114.483968471 - 1.7};
    static const double max_us[] = {114.483968471, 83.372203765 + 1.7, 114.483968471};
    assert_times(&c, "staircase", LATENCY_OUT, out_us);
    assert_times(&c, "staircase", LATENCY_MAX, max_us);
    /* Ranks 0 and 1 wait for what they receive, 8e5 and 5e5 bytes; rank 2 for the delivery of its 6e5 bytes at 0. */
    static const double alone_us[] = {8e5 / 10.2e3, 5e5 / 10.2e3, 6e5 / 10.2e3};
    static const double others_us[] = {111.083968471 - 8e5 / 10.2e3, 81.672203765 - 5e5 / 10.2e3,
                                       111.083968471 - 6e5 / 10.2e3};
    assert_split(&c, "staircase", alone_us, others_us);
    /* T10: nobody is slower than alone: BW_max is more than the three need. */
    static const double received_us[] = {8e5 / 10.2e3, 5e5 / 10.2e3, 4e5 / 10.2e3}, none_us[] = {0, 0, 0};
    assert_split(&c, "max-rate", received_us, none_us);

    struct traffic traffic;
    struct bandwidth_steps steps;
    struct error error;
    struct competitor competitors[] = {
        {.rank = 0, .volume = 8e5}, {.rank = 1, .volume = 5e5}, {.rank = 2, .volume = 4e5}};
    static const double recv_us[] = {111.083968471, 81.672203765, 69.767441860};
    assert_int_equal(traffic_init(&traffic, &c.pattern, &c.placement, &c.machine, 1, &error), 0);
    bandwidth_steps_init(&steps, &traffic, 3);
    staircase_receive_even(0, &steps, competitors, 3);
    for (size_t i = 0; i < 3; i++)
        assert_close(competitors[i].recv_s * 1e6, recv_us[competitors[i].rank], 1e-9);
    bandwidth_steps_release(&steps);
    traffic_release(&traffic);
    case_release(&c);
}

/* C follows T12-T17: both levels of a node. */
static void worked_c(void **state)
{
    (void)state;
    struct model_case c = {0};
    static const uint32_t socket[] = {0, 0, 0, 1};
    case_machine(&c, "thunderx2");
    case_place(&c, 4, NULL, socket);
    case_add(&c, 2, 0, 600000);
    case_add(&c, 3, 0, 200000);
    case_add(&c, 3, 1, 250000);
    case_add(&c, 3, 1, 250000);
    case_add(&c, 0, 2, 400000);
    static const double us[] = {124.914719933, 95.772350147, 120.514719933, 86.972350147};
    assert_times(&c, "staircase", LATENCY_IN, us);
    /* Rank 3 waits for its 5e5 bytes to rank 1, or for its 2e5 to rank 0 where these come last. Rank 2 is over when 6e5
     * of the 8e5 bytes are at rank 0: at first or last. */
    static const double serial_us[] = {124.914719933, 95.772350147, 106.721616485, (86.972350147 + 118.214719933) / 2};
    assert_times(&c, "serial", LATENCY_IN, serial_us);

    struct traffic traffic;
    struct bandwidth_steps steps;
    struct error error;
    unsigned levels = LEVEL_BIT(LEVEL_INTRA_SOCKET) | LEVEL_BIT(LEVEL_INTER_SOCKET);
    struct competitor competitors[] = {{.rank = 0, .volume = 8e5, .rest = 8e5},
                                       {.rank = 1, .volume = 5e5, .rest = 5e5},
                                       {.rank = 2, .volume = 4e5, .rest = 4e5}};
    static const double step_us[] = {59.850374065, 27.121976082, 31.242369787};
    static const uint32_t finishes[] = {2, 1, 0};
    assert_int_equal(traffic_init(&traffic, &c.pattern, &c.placement, &c.machine, 1, &error), 0);
    bandwidth_steps_init(&steps, &traffic, 3);
    staircase_receive_mixed(&traffic, levels, &steps, competitors, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(competitors[i].rank, finishes[i]);
        assert_close((competitors[i].recv_s - (i > 0 ? competitors[i - 1].recv_s : 0)) * 1e6, step_us[i], 1e-9);
    }
    bandwidth_steps_release(&steps);
    traffic_release(&traffic);
    case_release(&c);
}

/* Makes a machine of round numbers: 1 us and 1 GB/s (n = 1), 1.5 GB/s (n = 2) between nodes, twice as fast within a
 * socket. */
static void round_machine(struct model_case *c)
{
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level += 2) {
        double speed = level == LEVEL_INTRA_SOCKET ? 2 : 1;
        case_value(c, level, PROTOCOL_ANY, "tau", 0, 1e-6 / speed, "s");
        case_value(c, level, PROTOCOL_ANY, "bw", 1, speed * 1e9, "B/s");
        case_value(c, level, PROTOCOL_ANY, "bw", 2, speed * 1.5e9, "B/s");
    }
}

/* T18 between nodes takes the node as the group, whatever the socket, and its maximum is added to that within the node.
 */
static void total_adds_two_maxima(void **state)
{
    (void)state;
    struct model_case c = {.machine = {.name = "round"}};
    static const uint32_t node[] = {0, 0, 1}, socket[] = {0, 0, 0};
    static const uint32_t two_sockets[] = {0, 1, 0};
    round_machine(&c);
    case_place(&c, 3, node, socket);
    case_add(&c, 2, 0, 300000);
    case_add(&c, 2, 1, 600000);
    /* Node 0: 2 x 3e5/1.5e3 = 400 us, then 3e5/1e3 = 300 us. Rank 2 waits for its deliveries, 700 us. */
    static const double inter_us[] = {401, 701, 700};
    assert_times(&c, "staircase", LATENCY_IN, inter_us);
    /* Rank 2 waits for its 6e5 bytes to rank 1; those to rank 0 are no part of that way. */
    assert_split(&c, "staircase", (const double[]){300, 600, 600}, (const double[]){100, 100, 100});
    for (size_t i = 0; i < 3; i++)
        c.placement.socket[i] = two_sockets[i];
    assert_times(&c, "staircase", LATENCY_IN, inter_us);
    for (size_t i = 0; i < 3; i++)
        c.placement.socket[i] = socket[i];
    case_add(&c, 1, 0, 200000); /* alone on the socket: 0.5 + 100 us for 0, 100 us for 1 */
    static const double total_us[] = {501.5, 801, 700};
    assert_times(&c, "staircase", LATENCY_IN, total_us);
    /* T10 gives max(6e5/1.5e3, 3e5/1e3) to rank 0 between nodes, max(9e5/1.5e3, 6e5/1e3) to rank 1, 2e5/2e3 within. */
    static const double max_rate_us[] = {401 + 100.5, 601, 0};
    assert_times(&c, "max-rate", LATENCY_IN, max_rate_us);
    assert_split(&c, "max-rate", (const double[]){400, 600, 0}, (const double[]){100, 0, 0});
    static const double postal_us[] = {301 + 100.5, 601, 902};
    assert_times(&c, "postal", LATENCY_IN, postal_us);
    case_release(&c);
}

/* Each message has its own tau, and the bandwidth is the harmonic mean by bytes. */
static void several_protocols(void **state)
{
    (void)state;
    struct model_case c = {.machine = {.name = "protocols"}};
    case_value(&c, LEVEL_INTRA_SOCKET, PROTOCOL_EAGER, "tau", 0, 1e-6, "s");
    case_value(&c, LEVEL_INTRA_SOCKET, PROTOCOL_EAGER, "bw", 1, 1e9, "B/s");
    case_value(&c, LEVEL_INTRA_SOCKET, PROTOCOL_RENDEZVOUS, "tau", 0, 3e-6, "s");
    case_value(&c, LEVEL_INTRA_SOCKET, PROTOCOL_RENDEZVOUS, "bw", 1, 4e9, "B/s");
    case_value(&c, LEVEL_INTRA_SOCKET, PROTOCOL_RENDEZVOUS, "threshold", 0, 8000, "B");
    case_place(&c, 3, NULL, NULL);
    case_add(&c, 1, 0, 4000);
    case_add(&c, 2, 0, 8000);
    /* Rank 0: 4 + 2 us, BW_0(1) = 12000 B / 6 us = 2 GB/s. T9: 2 x 4000/12000 x 6 us = 4 us, then 6 us. */
    static const double us[] = {1 + 3 + 6, 4, 6};
    assert_times(&c, "staircase", LATENCY_IN, us);
    static const double side_us[] = {1 + 3 + 6, 4 + 1, 6 + 3};
    assert_times(&c, "staircase", LATENCY_MAX, side_us);
    static const double postal_us[] = {10, 5, 5};
    assert_times(&c, "postal", LATENCY_IN, postal_us);
    /* Rank 1 now receives 2000 eager bytes: it needs 2 x 2000 / 1e3 = 4 us; meanwhile 0 has 4 us / 2 x 2e3 = 4000 B,
     * the other 8000 B take 4 us. (Beyond n = 1 the table keeps its value.) */
    case_add(&c, 2, 1, 2000);
    /* Delivered at 1: 4 us. At 0, t = 8: 4000-byte message 2 x 4000/12000 x 8 = 5.333 us. */
    static const double mixed_us[] = {4 + 8, 1 + 16.0 / 3, 8};
    assert_times(&c, "staircase", LATENCY_IN, mixed_us);
    struct prediction prediction = case_predict(&c, "staircase", LATENCY_IN);
    assert_int_equal(prediction.extrapolated, 2);
    prediction_release(&prediction);
    case_release(&c);
}

/* F: 8 ranks of 8 nodes send 1e6 bytes to one rank; the receiver's NIC is the limit. Outcast is the same the other way
 * round; its sends are complete once all but B is through. */
static void worked_f(void **state)
{
    (void)state;
    struct model_case c = {.machine = {.name = "incast"}};
    static const uint32_t node[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "tau", 0, 0, "s");
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "bw", 1, 50e6, "B/s");
    case_place(&c, 9, node, NULL);
    for (uint32_t rank = 1; rank < 9; rank++)
        case_add(&c, rank, 0, 1000000);
    const double all_us = 8e6 / 50e6 * 1e6;
    const double in_us[] = {all_us, all_us, all_us, all_us, all_us, all_us, all_us, all_us, all_us};
    assert_times(&c, "flow", LATENCY_IN, in_us);
    assert_times(&c, "staircase", LATENCY_IN, in_us);
    assert_times(&c, "staircase-max", LATENCY_IN, in_us);
    assert_times(&c, "max-rate", LATENCY_IN, (const double[]){all_us, 0, 0, 0, 0, 0, 0, 0, 0});
    /* node-aware sees 8 senders, each alone on its node. */
    const double alone_us = all_us / 8;
    assert_times(&c, "node-aware", LATENCY_IN,
                 (const double[]){0, alone_us, alone_us, alone_us, alone_us, alone_us, alone_us, alone_us, alone_us});
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "buffer", 0, 250000, "B");
    const double sent_us = 0.75 * all_us;
    const double early_us[] = {all_us, sent_us, sent_us, sent_us, sent_us, sent_us, sent_us, sent_us, sent_us};
    assert_times(&c, "flow", LATENCY_IN, early_us);
    /* flow-window, ten repetitions: 92,160 B are taken of each at first, then what the buffer has grown by, 159 kB. */
    const double window_us = (0.90784 + 9 * (1 - 2 * 2304 / 1448. * 0.05)) / 10 * all_us;
    assert_times(&c, "flow-window", LATENCY_IN,
                 (const double[]){all_us, window_us, window_us, window_us, window_us, window_us, window_us, window_us,
                                  window_us});
    for (size_t m = 0; m < c.pattern.n_messages; m++) {
        c.pattern.dst[m] = c.pattern.src[m];
        c.pattern.src[m] = 0;
    }
    const double out_us[] = {sent_us, all_us, all_us, all_us, all_us, all_us, all_us, all_us, all_us};
    assert_times(&c, "flow", LATENCY_IN, out_us);
    case_release(&c);
}

/* B2 on Blue Waters: two of three ranks of a node send between nodes; the limit holds for rendezvous messages alone. */
static void node_aware_by_hand(void **state)
{
    (void)state;
    struct model_case c = {0};
    static const uint32_t node[] = {0, 0, 0, 1};
    case_machine(&c, "blue-waters");
    case_place(&c, 4, node, NULL);
    case_add(&c, 0, 3, 1000000);
    case_add(&c, 0, 3, 1000);
    case_add(&c, 1, 3, 2000000);
    case_add(&c, 1, 2, 100);
    case_add(&c, 2, 0, 1000000);
    /* ppn = 2: min(6.6, 2 x 2.9) = 5.8 GB/s, and for eager messages 2 x 0.75. */
    static const double us[] = {3.0 + 7.0 + 2e6 / 5.8e3 + 2e3 / 1.5e3, 3.0 + 0.44 + 4e6 / 5.8e3 + 100 / 2.2e3,
                                1.7 + 1e6 / 6.2e3, 0};
    assert_times(&c, "node-aware", LATENCY_IN, us);
    /* A third sender: 3 x 2.9 is above the limit. */
    case_add(&c, 2, 3, 6600);
    struct prediction prediction = case_predict(&c, "node-aware", LATENCY_IN);
    assert_close(prediction.time_s[1] * 1e6, 3.0 + 0.44 + 6e6 / 6.6e3 + 100 / 2.2e3, 1e-9);
    assert_close(prediction.part_s[PART_CONTENTION][1] * 1e6, 6e6 / 6.6e3 - 2e6 / 2.9e3, 1e-9);
    prediction_release(&prediction);
    case_release(&c);
}

/* B3 on Blue Waters, 8.4 ns n^2; a table over depth is read linearly, c = 2 gamma. Messages to oneself are not searched
 * for. */
static void queue_by_hand(void **state)
{
    (void)state;
    struct model_case c = {0};
    case_machine(&c, "blue-waters");
    case_place(&c, 2, NULL, NULL);
    for (int i = 0; i < 100; i++)
        case_add(&c, 1, 0, 8);
    case_add(&c, 0, 0, 8);
    double alone_us[2];
    struct prediction alone = case_predict(&c, "postal", LATENCY_IN);
    for (int i = 0; i < 2; i++)
        alone_us[i] = alone.time_s[i] * 1e6;
    prediction_release(&alone);
    struct prediction with = case_predict(&c, "postal+queue", LATENCY_IN);
    assert_close(with.part_s[PART_QUEUE][0] * 1e6, 84, 1e-12);
    assert_close(with.time_s[0] * 1e6, alone_us[0] + 84, 1e-12);
    assert_close(with.time_s[1] * 1e6, alone_us[1], 1e-12);
    prediction_release(&with);
    case_value(&c, LEVEL_COUNT, PROTOCOL_ANY, "queue_step", 50, 4e-9, "s");
    case_value(&c, LEVEL_COUNT, PROTOCOL_ANY, "queue_step", 150, 8e-9, "s");
    with = case_predict(&c, "staircase+queue", LATENCY_IN);
    assert_close(with.part_s[PART_QUEUE][0] * 1e6, 3e-3 * 100 * 100, 1e-12);
    prediction_release(&with);
    struct model_choice choice;
    assert_int_equal(model_choose("staircase+", &choice), -1);
    assert_int_equal(model_choose("staircase+queue+queue", &choice), -1);
    assert_int_equal(model_choose("+queue", &choice), -1);
    case_release(&c);
}

/* Tests nothing to do, nothing but latency, and ties. */
static void edges(void **state)
{
    (void)state;
    static const char *const models[] = {"postal", "max-rate", "staircase"};
    static const double nothing[] = {0}, empty_us[] = {1.0, 0.5}, tie_us[] = {401, 401, 400, 400};
    for (size_t m = 0; m < 3; m++) {
        struct model_case c = {.machine = {.name = "round"}};
        round_machine(&c);
        case_place(&c, 1, NULL, NULL);
        assert_times(&c, models[m], LATENCY_IN, nothing);
        case_add(&c, 0, 0, 1u << 20);
        assert_times(&c, models[m], LATENCY_IN, nothing);
        case_release(&c);

        struct model_case empty = {.machine = {.name = "round"}};
        round_machine(&empty);
        case_place(&empty, 2, NULL, NULL);
        case_add(&empty, 1, 0, 0);
        case_add(&empty, 1, 0, 0);
        case_add(&empty, 0, 1, 0);
        struct prediction prediction = case_predict(&empty, models[m], LATENCY_IN);
        for (size_t i = 0; i < 2; i++)
            assert_close(prediction.time_s[i] * 1e6, m == 0 ? 1.0 : empty_us[i], 1e-12);
        prediction_release(&prediction);
        case_release(&empty);
    }
    struct model_case tie = {.machine = {.name = "round"}};
    static const uint32_t node[] = {0, 0, 1, 1};
    round_machine(&tie);
    case_place(&tie, 4, node, NULL);
    case_add(&tie, 2, 0, 300000);
    case_add(&tie, 3, 1, 300000);
    assert_times(&tie, "staircase", LATENCY_IN, tie_us);
    case_release(&tie);
}

/* BW(1) below BW(2)/2, as in rows of T Table I: two ranks are each faster than one alone; nothing is negative. */
static void slower_alone(void **state)
{
    (void)state;
    struct model_case c = {.machine = {.name = "slower"}};
    case_value(&c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "tau", 0, 1e-6, "s");
    case_value(&c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
    case_value(&c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw", 2, 3e9, "B/s");
    case_place(&c, 2, NULL, NULL);
    case_add(&c, 0, 1, 300000);
    case_add(&c, 1, 0, 300000);
    assert_times(&c, "staircase", LATENCY_IN, (const double[]){201, 201});
    assert_split(&c, "staircase", (const double[]){200, 200}, (const double[]){0, 0});
    case_release(&c);
}

static void missing_level_is_named(void **state)
{
    (void)state;
    struct model_case c = {0};
    static const uint32_t node[] = {0, 1};
    case_machine(&c, "epyc-rome");
    case_place(&c, 2, node, NULL);
    case_add(&c, 0, 1, 8);
    for (size_t m = 0; model_table[m] != NULL; m++) {
        struct error error = {.text = ""};
        struct prediction prediction;
        struct model_options options = {.latency = LATENCY_IN};
        prediction_init(&prediction, 2);
        assert_int_equal(model_choice_predict(&(struct model_choice){.model = model_table[m]}, &c.pattern, &c.placement,
                                              &c.machine, &options, &prediction, &error),
                         -1);
        assert_string_equal(error.text,
                            "machine 'epyc-rome' has no values for level inter_node, which the messages need: "
                            "calibrate it, or take another machine");
        prediction_release(&prediction);
    }
    case_release(&c);
}

/* Blue Waters' table has BW(1) and R_N alone: 16 ranks of a node receive 1 MB each, or send it, at min(16 BW(1), R_N),
 * whichever model says so; where there is no limit, eager between nodes and all within, at 16 BW(1). */
static void one_process_and_injection(void **state)
{
    (void)state;
    static const char *const models[] = {"max-rate", "node-aware", "staircase", "staircase-max", "serial", "flow"};
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        struct model_case c = {0};
        uint32_t node[32], receives = m == 1 ? 0 : 16;
        case_machine(&c, "blue-waters");
        for (uint32_t rank = 0; rank < 32; rank++)
            node[rank] = rank < 16 ? 0 : 1;
        case_place(&c, 32, node, NULL);
        for (uint32_t rank = 0; rank < 16; rank++)
            case_add(&c, rank, 16 + rank, 1000000);
        for (int eager = 0; eager < 2; eager++) {
            struct prediction prediction = case_predict(&c, models[m], LATENCY_IN);
            for (uint32_t rank = 0; rank < 16; rank++)
                assert_close(prediction.time_s[receives + rank], eager ? 7e-6 + 4e3 / 7.5e8 : 3e-6 + 16e6 / 6.6e9,
                             1e-12);
            assert_int_equal(prediction.extrapolated > 0, eager && m > 1); /* those two look no table up beyond */
            prediction_release(&prediction);
            for (uint32_t k = 0; k < 16; k++)
                pattern_set_bytes(&c.pattern, k, 4000);
        }
        for (uint32_t rank = 0; rank < 32; rank++)
            c.placement.node[rank] = 0;
        struct prediction within = case_predict(&c, models[m], LATENCY_IN);
        assert_close(within.time_s[receives], 5.3e-7 + 4e3 / 3.2e9, 1e-12);
        prediction_release(&within);
        case_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_a),
        cmocka_unit_test(worked_b),
        cmocka_unit_test(worked_c),
        cmocka_unit_test(one_process_and_injection),
        cmocka_unit_test(total_adds_two_maxima),
        cmocka_unit_test(worked_f),
        cmocka_unit_test(queue_by_hand),
        cmocka_unit_test(node_aware_by_hand),
        cmocka_unit_test(several_protocols),
        cmocka_unit_test(edges),
        cmocka_unit_test(slower_alone),
        cmocka_unit_test(missing_level_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

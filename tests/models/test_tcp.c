/* flow-tcp: windows, queues and times by hand, and what must hold for every pattern. Microseconds in comments. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "flow_tcp.h"

#include <cmocka.h> /* last: it defines fail as a macro */

/* A TCP of round numbers: packets of 1,000 bytes, any number of them queued, windows from 2,000 on that double for
 * ever, nothing taken before it is acknowledged, acknowledgements that take nothing. */
static const struct tcp_constants round_tcp = {.initial_bytes = 2000,
                                               .largest_bytes = 1e12,
                                               .rise_least_s = 1e9,
                                               .rise_most_s = 1e9,
                                               .rise_divisor = 8,
                                               .packet_bytes = 1000,
                                               .packet_windows = 1,
                                               .packets_queued = 1e9,
                                               .packets_most = 1e9};

/* The same with windows of one packet. */
static struct tcp_constants one_packet(void)
{
    struct tcp_constants constants = round_tcp;
    constants.initial_bytes = constants.largest_bytes = constants.packet_bytes;
    return constants;
}

/* 1 GB/s between nodes: a packet takes 1 us. */
static void one_protocol(struct model_case *c, double tau_s)
{
    *c = (struct model_case){.machine = {.name = "tcp"}};
    case_value(c, LEVEL_INTER_NODE, PROTOCOL_ANY, "tau", 0, tau_s, "s");
    case_value(c, LEVEL_INTER_NODE, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
}

/* Eager below 64 KB, whose own bandwidth is not that of the NIC. */
static void two_protocols(struct model_case *c, double bytes_per_s)
{
    *c = (struct model_case){.machine = {.name = "tcp"}};
    for (enum machine_protocol protocol = PROTOCOL_EAGER; protocol <= PROTOCOL_RENDEZVOUS; protocol++) {
        case_value(c, LEVEL_INTER_NODE, protocol, "tau", 0, 0, "s");
        case_value(c, LEVEL_INTER_NODE, protocol, "bw", 1, protocol == PROTOCOL_EAGER ? 9e9 : bytes_per_s, "B/s");
    }
    case_value(c, LEVEL_INTER_NODE, PROTOCOL_RENDEZVOUS, "threshold", 0, 64000, "B");
}

static struct prediction predict(const struct tcp_constants *constants, const struct model_case *c, size_t repetitions)
{
    struct prediction prediction;
    struct error error = {.text = ""};
    struct model_options options = {.repetitions = repetitions};
    assert_int_equal(prediction_init(&prediction, c->placement.n_ranks), 0);
    if (flow_tcp_predict(constants, &c->pattern, &c->placement, &c->machine, &options, &prediction, &error) != 0)
        fail_msg("%s", error.text);
    return prediction;
}

static void assert_us(const struct tcp_constants *constants, const struct model_case *c, size_t repetitions,
                      const double *us)
{
    struct prediction prediction = predict(constants, c, repetitions);
    for (size_t rank = 0; rank < c->placement.n_ranks; rank++)
        if (!(fabs(prediction.time_s[rank] * 1e6 - us[rank]) <= 1e-9 * us[rank]))
            fail_msg("rank %zu: %.15g us, expected %.15g", rank, prediction.time_s[rank] * 1e6, us[rank]);
    prediction_release(&prediction);
}

/* 10 segments; each acknowledged byte is one more, until a round trip is 4 ms longer than the shortest; from there each
 * is a twentieth. */
static void windows_by_hand(void **state)
{
    (void)state;
    struct tcp_window window = tcp_window_new(&tcp_linux, 1e-3);
    assert_close(window.bytes, 14480, 1e-15);
    assert_close(tcp_window_buffer(&window, &tcp_linux), 46080, 1e-12); /* 20 x 2304 */
    tcp_window_acknowledge(&window, &tcp_linux, 5792, 5.1e-3);          /* late, but not above 16 segments */
    assert_close(window.bytes, 20272, 1e-15);
    assert_true(window.slow_start);
    tcp_window_acknowledge(&window, &tcp_linux, 5792, 4.9e-3); /* large enough, but in time */
    assert_true(window.slow_start);
    tcp_window_acknowledge(&window, &tcp_linux, 5792, 5.1e-3);
    assert_close(window.bytes, 31856, 1e-15); /* 22 segments */
    assert_false(window.slow_start);
    tcp_window_acknowledge(&window, &tcp_linux, 5792, 1e-3);
    assert_close(window.bytes, 31856 + 5792 / 20., 1e-15);
    for (int i = 0; i < 100; i++) /* a round trip of 64 ms: 8 ms more, one of 200: 16 ms */
        tcp_window_acknowledge(&window, &tcp_linux, 1e9, 1);
    assert_close(window.bytes, 4194304, 1e-15);
    assert_close(tcp_window_buffer(&window, &tcp_linux), 4194304, 1e-15);
    for (int far = 0; far < 2; far++) {
        double shortest_s = far ? 0.2 : 0.064, rise_s = far ? 0.016 : 0.008;
        window = tcp_window_new(&tcp_linux, shortest_s);
        tcp_window_acknowledge(&window, &tcp_linux, 14480, shortest_s + 0.99 * rise_s);
        assert_true(window.slow_start);
        tcp_window_acknowledge(&window, &tcp_linux, 14480, shortest_s + 1.01 * rise_s);
        assert_false(window.slow_start);
    }
}

/* 14 packets, a round trip of 100: two go at 0 and are acknowledged at 101 and 102, four are out from 101 to 105, eight
 * from 202 to 210. The window is 16 then: in the next repetition all of them are out in 14. */
static void slow_start_by_hand(void **state)
{
    (void)state;
    struct model_case c;
    static const uint32_t node[] = {0, 1};
    struct tcp_constants buffers = round_tcp;
    one_protocol(&c, 50e-6);
    case_place(&c, 2, node, NULL);
    case_add(&c, 0, 1, 14000);
    assert_us(&round_tcp, &c, 1, (const double[]){310, 50 + 210});
    assert_us(&round_tcp, &c, 2, (const double[]){(310 + 114) / 2., 50 + (210 + 14) / 2.});
    struct prediction prediction = predict(&round_tcp, &c, 1);
    assert_close(prediction.part_s[PART_BANDWIDTH][1] * 1e6, 14, 1e-9);
    assert_close(prediction.part_s[PART_CONTENTION][1] * 1e6, 196, 1e-9);
    prediction_release(&prediction);
    /* With k packets acknowledged the window is 2 + k, and twice as much is taken: k + 2 (2 + k) >= 14 from k = 4 on,
     * the second of the four, at 203. */
    buffers.buffer_windows = 2;
    assert_us(&buffers, &c, 1, (const double[]){203, 50 + 210});
    /* The next message of the connection follows in its stream, when the seventh is acknowledged, 303. */
    case_add(&c, 0, 1, 1000);
    assert_us(&round_tcp, &c, 1, (const double[]){404, 100 + 304});
    /* Data the other way: the first acknowledgement comes out behind it, at 2 and not at 1. */
    case_add(&c, 1, 0, 2000);
    assert_us(&round_tcp, &c, 1, (const double[]){50 + 405, 100 + 305});
    case_release(&c);
}

/* Two flows with windows of a packet take turns. */
static void equal_flows_take_turns(void **state)
{
    (void)state;
    struct model_case c;
    static const uint32_t node[] = {0, 0, 1, 2};
    const struct tcp_constants one = one_packet();
    one_protocol(&c, 0);
    case_place(&c, 4, node, NULL);
    case_add(&c, 0, 2, 3000);
    case_add(&c, 1, 3, 3000);
    assert_us(&one, &c, 1, (const double[]){5, 6, 5, 6});
    /* With windows of two packets: 0 0 1 1 0 1; so, too, where packets are half a window. */
    struct tcp_constants halves = round_tcp;
    halves.largest_bytes = 2000;
    halves.packet_bytes = 1e9;
    halves.packet_windows = 0.5;
    assert_us(&round_tcp, &c, 1, (const double[]){5, 6, 5, 6});
    assert_us(&halves, &c, 1, (const double[]){5, 6, 5, 6});
    /* Of three: the first is through before the second begins, unless only two packets may queue. */
    struct tcp_constants three = round_tcp;
    three.initial_bytes = 3000;
    assert_us(&three, &c, 1, (const double[]){3, 6, 3, 6});
    three.packets_queued = 2;
    assert_us(&three, &c, 1, (const double[]){5, 6, 5, 6});
    case_release(&c);
}

/* F: the receiver's NIC has always something to do, whatever the windows. */
static void worked_f(void **state)
{
    (void)state;
    struct model_case c;
    static const uint32_t node[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    two_protocols(&c, 50e6);
    case_place(&c, 9, node, NULL);
    for (uint32_t rank = 1; rank < 9; rank++)
        case_add(&c, rank, 0, 1000000);
    for (size_t repetitions = 1; repetitions <= 10; repetitions += 9) {
        struct prediction incast = predict(&tcp_linux, &c, repetitions);
        assert_close(incast.time_s[0], 0.16, 1e-9);
        assert_close(incast.part_s[PART_BANDWIDTH][0], 0.16, 1e-9);
        for (size_t rank = 1; rank < 9; rank++) {
            /* 46,080 bytes are taken at once; in later repetitions, with larger windows, all of it. */
            double bandwidth_s = incast.part_s[PART_BANDWIDTH][rank], most_s = fmin(0.02, incast.time_s[rank]);
            assert_true(incast.time_s[rank] < 0.16 && incast.time_s[rank] > 0);
            assert_true(bandwidth_s <= most_s * (1 + 1e-9) && bandwidth_s > 0);
            assert_true(repetitions > 1 || bandwidth_s >= most_s * (1 - 1e-9));
        }
        prediction_release(&incast);
    }
    for (size_t m = 0; m < c.pattern.n_messages; m++) {
        c.pattern.dst[m] = c.pattern.src[m];
        c.pattern.src[m] = 0;
    }
    struct prediction outcast = case_predict(&c, "flow-tcp", LATENCY_IN);
    double last_s = 0;
    for (size_t rank = 1; rank < 9; rank++)
        last_s = fmax(last_s, outcast.time_s[rank]);
    assert_true(last_s <= 0.16 * (1 + 1e-9) && last_s > 0.15); /* another one may be the last next time */
    prediction_release(&outcast);
    case_release(&c);
}

/* 20 x 2304 bytes are taken before anything moves; an eager send of any size is over at once. */
static void sends_that_fit_are_over(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes, threshold_bytes;
        bool at_once;
    } sends[] = {{46080, 0, true}, {46081, 0, false}, {1000000, 2000000, true}, {0, 0, true}};
    static const uint32_t node[] = {0, 1};
    for (size_t i = 0; i < sizeof sends / sizeof sends[0]; i++) {
        struct model_case c;
        two_protocols(&c, 50e6);
        c.machine.parameters[c.machine.n_parameters - 1].value = (double)sends[i].threshold_bytes;
        case_place(&c, 2, node, NULL);
        case_add(&c, 0, 1, sends[i].bytes);
        struct prediction prediction = predict(&tcp_linux, &c, 1);
        assert_int_equal(prediction.time_s[0] <= 0, sends[i].at_once);
        assert_close(prediction.time_s[1], (double)sends[i].bytes / 50e6, 1e-9);
        prediction_release(&prediction);
        case_release(&c);
    }
}

/* Rank 1's node has 60 packets of its own to send when the handshake asks for its answer: that goes behind them. */
static void handshakes_wait(void **state)
{
    (void)state;
    struct model_case c;
    static const uint32_t node[] = {0, 1, 2};
    struct tcp_constants wide = round_tcp;
    wide.initial_bytes = 1e9;
    two_protocols(&c, 1e9);
    case_place(&c, 3, node, NULL);
    case_add(&c, 1, 2, 60000); /* eager */
    case_add(&c, 0, 1, 70000); /* rendezvous */
    assert_us(&wide, &c, 1, (const double[]){130, 130, 60});
    c.pattern.bytes[1] = 63000; /* eager, too */
    assert_us(&wide, &c, 1, (const double[]){0, 63, 60});
    case_release(&c);
}

/* Acknowledgements take their share of a NIC that sends data, too: half of it here, behind every packet. */
static void acknowledgements_take_time(void **state)
{
    (void)state;
    struct model_case c;
    static const uint32_t node[] = {0, 1};
    struct tcp_constants constants = one_packet();
    constants.acknowledgement_share = 0.5;
    one_protocol(&c, 0);
    case_place(&c, 2, node, NULL);
    case_add(&c, 0, 1, 3000);
    /* A packet takes 1 and its acknowledgement 0.5, through both NICs at once; the last one is under way at 4. */
    assert_us(&constants, &c, 1, (const double[]){4.5, 4});
    case_release(&c);
}

/* A message of any size is simulated with no more packets than wanted. */
static void packets_grow_with_bytes(void **state)
{
    (void)state;
    struct model_case c;
    static const uint32_t node[] = {0, 1};
    struct tcp_constants constants = tcp_linux;
    constants.packets_most = 1000;
    one_protocol(&c, 1e-6);
    case_place(&c, 2, node, NULL);
    case_add(&c, 0, 1, UINT64_MAX);
    case_add(&c, 0, 1, UINT64_MAX);
    case_add(&c, 1, 0, 1);
    struct prediction prediction = predict(&constants, &c, 0);
    /* Each packet is larger than the largest window: the next one waits for its acknowledgement. */
    assert_close(prediction.time_s[1], 2 * 18446744073.709551615 * (1 + 66 / 3028.), 1e-3);
    prediction_release(&prediction);
    case_release(&c);
}

/* As flow where all flows are served evenly, here one packet each in turn, and one NIC alone is the limit: no rank is
 * more than a packet of every flow and one off. */
static void small_windows_are_flow(void **state)
{
    (void)state;
    struct chance chance = {.state = 21};
    const struct tcp_constants one = one_packet();
    for (int i = 0; i < 40; i++) {
        struct model_case c;
        uint32_t node[13], n = 2 + (uint32_t)chance_below(&chance, 11);
        for (uint32_t rank = 0; rank < n; rank++)
            node[rank] = rank;
        one_protocol(&c, 0);
        case_place(&c, n, node, NULL);
        for (uint32_t rank = 1; rank < n; rank++)
            case_add(&c, i % 2 ? rank : 0, i % 2 ? 0 : rank, 1 + chance_below(&chance, 300000));
        struct prediction flow = case_predict(&c, "flow", LATENCY_IN), tcp = predict(&one, &c, 1);
        for (size_t rank = 0; rank < n; rank++)
            if (!(fabs(tcp.time_s[rank] - flow.time_s[rank]) <= (n + 1) * 1e-6))
                fail_msg("case %d, rank %zu: %.9g, flow %.9g", i, rank, tcp.time_s[rank], flow.time_s[rank]);
        prediction_release(&flow);
        prediction_release(&tcp);
        case_release(&c);
    }
}

/* c with other names of ranks, nodes and sockets, its messages in the same order: that is the order of the posts. */
static struct model_case rename_all(const struct model_case *c, const uint32_t *name)
{
    struct model_case renamed = {0};
    case_place(&renamed, c->placement.n_ranks, NULL, NULL);
    for (size_t rank = 0; rank < c->placement.n_ranks; rank++) {
        renamed.placement.node[name[rank]] = 70 - c->placement.node[rank];
        renamed.placement.socket[name[rank]] = 5 + c->placement.socket[rank];
    }
    for (size_t m = 0; m < c->pattern.n_messages; m++)
        case_add(&renamed, name[c->pattern.src[m]], name[c->pattern.dst[m]], c->pattern.bytes[m]);
    for (size_t k = 0; k < c->machine.n_parameters; k++)
        assert_int_equal(machine_append(&renamed.machine, &c->machine.parameters[k]), 0);
    return renamed;
}

/* A machine of TCP's kind: random rates, a hundred times slower than those of cases.c. */
static void random_case(struct model_case *c, struct chance *chance, int i)
{
    case_random(c, chance, i % 2 == 1);
    for (size_t k = 0; k < c->machine.n_parameters; k++)
        if (strcmp(c->machine.parameters[k].quantity, "bw") == 0)
            c->machine.parameters[k].value /= 100;
}

/* The most that a NIC serves: of the last protocol, in B/s. */
static double fastest(const struct machine *machine)
{
    double bytes_per_s = 0;
    enum machine_protocol last = PROTOCOL_ANY;
    for (size_t k = 0; k < machine->n_parameters; k++) {
        const struct machine_parameter *row = &machine->parameters[k];
        if (row->level != LEVEL_INTER_NODE || strcmp(row->quantity, "bw") != 0)
            continue;
        bytes_per_s = row->protocol > last ? row->value : fmax(bytes_per_s, row->value);
        last = row->protocol;
    }
    return bytes_per_s;
}

/* What a rank gets from other nodes. */
static double incoming(const struct model_case *c, size_t rank)
{
    double bytes = 0;
    for (size_t m = 0; m < c->pattern.n_messages; m++)
        if (c->pattern.dst[m] == rank && c->placement.node[c->pattern.src[m]] != c->placement.node[rank])
            bytes += (double)c->pattern.bytes[m];
    return bytes;
}

/* Parts add up, nothing is negative, who has nothing to do needs no time; names change nothing; no rank gets its bytes
 * faster than a NIC can serve them. */
static void holds_for_random_patterns(void **state)
{
    (void)state;
    struct chance chance = {.state = 22};
    for (int i = 0; i < 30; i++) {
        struct model_case c;
        bool busy[40] = {false};
        uint32_t name[40];
        random_case(&c, &chance, i);
        if (i % 5 == 0)
            memset(c.pattern.bytes, 0, c.pattern.n_messages * sizeof *c.pattern.bytes);
        for (size_t m = 0; m < c.pattern.n_messages; m++)
            if (c.pattern.src[m] != c.pattern.dst[m])
                busy[c.pattern.src[m]] = busy[c.pattern.dst[m]] = true;
        size_t n_ranks = c.placement.n_ranks;
        for (uint32_t rank = 0; rank < n_ranks; rank++) {
            size_t other = chance_below(&chance, rank + 1);
            name[rank] = name[other];
            name[other] = rank;
        }
        struct model_case renamed = rename_all(&c, name);
        struct prediction first = predict(&tcp_linux, &c, 2), second = predict(&tcp_linux, &renamed, 2);
        assert_int_equal(first.extrapolated, second.extrapolated);
        for (size_t rank = 0; rank < n_ranks; rank++) {
            double parts_s = 0;
            for (size_t part = 0; part < PART_COUNT; part++) {
                assert_true(first.part_s[part][rank] >= 0);
                parts_s += first.part_s[part][rank];
            }
            assert_true(first.part_s[PART_BANDWIDTH][rank] + first.part_s[PART_CONTENTION][rank] >=
                        incoming(&c, rank) / fastest(&c.machine) * (1 - 1e-9));
            assert_close(parts_s, first.time_s[rank], 1e-12);
            assert_close(second.time_s[name[rank]], first.time_s[rank], 1e-9);
            assert_true(busy[rank] || first.time_s[rank] <= 0);
            assert_true(i % 5 != 0 || first.part_s[PART_BANDWIDTH][rank] <= 0);
        }
        prediction_release(&first);
        prediction_release(&second);
        case_release(&c);
        case_release(&renamed);
    }
}

/* Without messages between nodes it is the staircase, and asks for no rates between them. */
static void one_node_is_the_staircase(void **state)
{
    (void)state;
    struct chance chance = {.state = 23};
    for (int i = 0; i < 30; i++) {
        struct model_case c;
        random_case(&c, &chance, i);
        memset(c.placement.node, 0, c.placement.n_ranks * sizeof *c.placement.node);
        struct prediction staircase = case_predict(&c, "staircase", LATENCY_MAX);
        struct prediction tcp = case_predict(&c, "flow-tcp", LATENCY_MAX);
        for (size_t rank = 0; rank < c.placement.n_ranks; rank++)
            assert_close(tcp.time_s[rank], staircase.time_s[rank], 1e-12);
        prediction_release(&staircase);
        prediction_release(&tcp);
        case_release(&c);
    }
    struct model_case rome = {0};
    case_machine(&rome, "epyc-rome");
    case_place(&rome, 2, NULL, NULL);
    case_add(&rome, 0, 1, 100000);
    struct prediction prediction = case_predict(&rome, "flow-tcp", LATENCY_IN);
    assert_true(prediction.time_s[1] > 0);
    prediction_release(&prediction);
    case_release(&rome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_by_hand),
        cmocka_unit_test(slow_start_by_hand),
        cmocka_unit_test(equal_flows_take_turns),
        cmocka_unit_test(worked_f),
        cmocka_unit_test(sends_that_fit_are_over),
        cmocka_unit_test(handshakes_wait),
        cmocka_unit_test(acknowledgements_take_time),
        cmocka_unit_test(packets_grow_with_bytes),
        cmocka_unit_test(small_windows_are_flow),
        cmocka_unit_test(holds_for_random_patterns),
        cmocka_unit_test(one_node_is_the_staircase),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

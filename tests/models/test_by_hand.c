/* Tests the models of our own that start together by small cases that are worked by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include "tests/models/cases.h"

#include <cmocka.h> /* last: it defines fail as a macro */

/* Two flows of different size leave one node, the smaller one into a node that receives another. */
static void flow_by_hand(void **state)
{
    (void)state;
    struct model_case c = {.machine = {.name = "flows"}};
    static const uint32_t node[] = {0, 0, 1, 2, 3};
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "tau", 0, 5e-6, "s");
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "bw", 2, 1.6e9, "B/s");
    case_place(&c, 5, node, NULL);
    case_add(&c, 0, 2, 400000);
    case_add(&c, 1, 3, 1000000);
    case_add(&c, 4, 2, 700000);
    /* Out of node 0, 400000 of both at 1.6 GB/s take 500 us, the other 600000 at 1 GB/s 600 us more. Into node 1, one
     * rank, 800000 at 1 GB/s take 800 us, then 300000 more: 1100. */
    static const double us[] = {800, 1100, 10 + 1100, 5 + 1100, 1100};
    assert_times(&c, "flow", LATENCY_IN, us);
    /* 4e5 bytes of rank 0 and 7e5 of rank 4 go into node 1, all of them rank 2's. */
    assert_split(&c, "flow", (const double[]){400, 1000, 1100, 1000, 700}, (const double[]){400, 100, 0, 100, 400});
    /* With B = 100000 rank 0 is done when 300000 are through: out 375, in 600 us. Rank 1 has 900000: 1000 us. Rank 4
     * has 600000 into node 1: 1000 us. */
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "buffer", 0, 100000, "B");
    static const double early_us[] = {600, 1000, 10 + 1100, 5 + 1100, 1000};
    assert_times(&c, "flow", LATENCY_IN, early_us);
    assert_split(&c, "flow", (const double[]){300, 900, 1100, 1000, 600}, (const double[]){300, 100, 0, 100, 400});
    case_release(&c);
}

/* Ten rounds follow back to back at 1 GB/s. TCP takes 3.18 (28,960 + r 50,000) bytes of 1 MB in repetition r. What it
 * took the time before has not drained, so that there is room for what the buffer has grown by: 3.18 times 50,000
 * bytes. For 10 MB it is 3.18 times 500,000, up to 4 MB, where it is full in repetition 4. 92,160 bytes fit once. */
static void flow_window_by_hand(void **state)
{
    (void)state;
    struct model_case c = {.machine = {.name = "windows"}};
    static const uint32_t node[] = {0, 1};
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "tau", 0, 0, "s");
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "buffer", 0, 1e9, "B"); /* the formula takes its place */
    case_place(&c, 2, node, NULL);
    case_add(&c, 0, 1, 1000000);
    const double grows = 2 * 2304 / 1448. / 20; /* share of a round's bytes */
    assert_times(&c, "flow-window", LATENCY_IN, (const double[]){(907.84 + 9 * (1000 - grows * 1000)) / 10, 1000});
    assert_split(&c, "flow-window", (const double[]){(907.84 + 9 * (1000 - grows * 1000)) / 10, 1000},
                 (const double[]){0, 0});
    pattern_set_bytes(&c.pattern, 0, 10000000);
    const double third_us = 10000 - (4194.304 - 92.16 - 2 * grows * 10000);
    assert_times(&c, "flow-window", LATENCY_IN,
                 (const double[]){(9907.84 + 2 * (10000 - grows * 10000) + third_us + 6 * 10000) / 10, 10000});
    pattern_set_bytes(&c.pattern, 0, 92160);
    assert_times(&c, "flow-window", LATENCY_IN, (const double[]){9 * (92.16 - grows * 92.16) / 10, 92.16});
    case_release(&c);
}

/* At 1 GB/s with 2 MB of buffer, of which copies take 5 GB/s at best, 1 MB is a copy, 200 us. After one round of that
 * there is room for it once more, after two for none. Where the sender rested for 0.4 ms since each of them, 0.6 MB
 * stay of each: after three there is room for 0.2 MB. */
static void flow_keeps_what_has_not_drained(void **state)
{
    (void)state;
    struct model_case c = {.machine = {.name = "full"}};
    static const uint32_t node[] = {0, 1};
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "tau", 0, 1e-6, "s");
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "buffer", 0, 2e6, "B");
    case_place(&c, 2, node, NULL);
    case_add(&c, 0, 1, 1000000);
    assert_times(&c, "flow", LATENCY_IN, (const double[]){1, 1001}); /* no copy is known: tau */
    case_value(&c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw", 1, 5e9, "B/s");
    assert_times(&c, "flow", LATENCY_IN, (const double[]){200, 1001});
    case_release(&c);
}

/* Two flows go into a node, 1 MB and 200 kB. NICs serve them in turn, in packets of half their windows after 4.5
 * repetitions: the large one's of 45 segments, the other's of (28,960 + 45,000) / 2 bytes. After the first repetition
 * there is room for what the buffer has grown by. */
static void flow_window_in_packets(void **state)
{
    (void)state;
    struct model_case c = {.machine = {.name = "packets"}};
    static const uint32_t node[] = {0, 1, 2, 2};
    const double both = 1 + 65160 / 36980.; /* bytes through the NIC for one of the small flow */
    /* The last of it is taken when this is through, beside the other. */
    const double sent_us = (107.84 + 9 * (200 - 2 * 2304 / 1448. * 10)) * both / 10;
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "tau", 0, 0, "s");
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
    case_place(&c, 4, node, NULL);
    case_add(&c, 0, 2, 1000000);
    case_add(&c, 1, 3, 200000);
    struct prediction prediction = case_predict(&c, "flow-window", LATENCY_IN);
    assert_close(prediction.time_s[1] * 1e6, sent_us, 1e-9);
    assert_close(prediction.time_s[2] * 1e6, 1200, 1e-9);
    assert_close(prediction.time_s[3] * 1e6, 200 * both, 1e-9);
    prediction_release(&prediction);
    case_release(&c);
}

/* Everything goes at 1 GB/s. Rank 1's and 2's messages to rank 0, 1 and 3 MB, come first or last: 1 or 4 ms, 3 or 4 ms.
 * Then rank 1 has one of 2 MB to rank 3 beside it, at first alone, 2 ms, then with one of as much from rank 2: 2 or 4
 * ms each. */
static void serial_by_hand(void **state)
{
    (void)state;
    struct model_case c = {.machine = {.name = "in turn"}};
    static const uint32_t node[] = {0, 0, 0, 0};
    case_value(&c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "tau", 0, 0, "s");
    case_value(&c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
    case_value(&c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw", 4, 4e9, "B/s");
    case_place(&c, 4, node, NULL);
    case_add(&c, 1, 0, 1000000);
    case_add(&c, 2, 0, 3000000);
    assert_times(&c, "serial", LATENCY_IN, (const double[]){4000, 2500, 3500, 0});
    assert_split(&c, "serial", (const double[]){4000, 1000, 3000, 0}, (const double[]){0, 1500, 500, 0});
    case_add(&c, 1, 3, 2000000);
    assert_times(&c, "serial", LATENCY_IN, (const double[]){4000, 3000, 3500, 2000}); /* max(2, 1), max(2, 4) */
    case_add(&c, 2, 3, 2000000);
    /* Both are first in a quarter of the orders: 2 ms, of rank 2 3 ms; else 4. */
    assert_times(&c, "serial", LATENCY_IN, (const double[]){4000, 3500, 3750, 4000});
    assert_times(&c, "flow-window", LATENCY_IN, (const double[]){4000, 3500, 3750, 4000});
    case_release(&c);
}

/* Messages from one rank to one other come as a block: 2 MB at 1 GB/s, however many messages. Beside 1 MB of rank 2 it
 * is first or last: 2 or 3 ms, and the other one 1 or 3. Were each of the three in an order of its own, rank 1 would be
 * over in less than 3 ms also where its last message comes last. */
static void serial_takes_blocks(void **state)
{
    (void)state;
    struct model_case c = {.machine = {.name = "blocks"}};
    case_value(&c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "tau", 0, 0, "s");
    case_value(&c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
    case_place(&c, 3, NULL, NULL);
    case_add(&c, 1, 0, 1000000);
    case_add(&c, 1, 0, 1000000);
    assert_times(&c, "serial", LATENCY_IN, (const double[]){2000, 2000, 0});
    assert_split(&c, "serial", (const double[]){2000, 2000, 0}, (const double[]){0, 0, 0});
    case_add(&c, 2, 0, 1000000);
    assert_times(&c, "serial", LATENCY_IN, (const double[]){3000, 2500, 2000});
    case_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flow_by_hand),        cmocka_unit_test(flow_keeps_what_has_not_drained),
        cmocka_unit_test(flow_window_by_hand), cmocka_unit_test(flow_window_in_packets),
        cmocka_unit_test(serial_by_hand),      cmocka_unit_test(serial_takes_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests by hand what waits for a network card, and who must look for messages for a handshake to go on
 * (share/doc/MODELS.md, Whole run, Backlog). Times are ms; 1 MB takes 1 ms, a step of a handshake 0.1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/models/run_case.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { MB = 1000000 };

/* Each pair of ranks has 0.2 MB before a card, and everything before others of its own. */
static void begin(struct run_case *run, size_t n, const uint32_t *node, double progress, double buffer_bytes)
{
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        case_value(&run->c, level, PROTOCOL_EAGER, "tau", 0, 1e-4, "s");
        case_value(&run->c, level, PROTOCOL_EAGER, "bw", 1, 1e9, "B/s");
        case_value(&run->c, level, PROTOCOL_RENDEZVOUS, "tau", 0, 3e-4, "s");
        case_value(&run->c, level, PROTOCOL_RENDEZVOUS, "bw", 1, 1e9, "B/s");
        case_value(&run->c, level, PROTOCOL_RENDEZVOUS, "threshold", 0, MB, "B");
    }
    case_value(&run->c, LEVEL_INTER_NODE, PROTOCOL_ANY, "backlog", 0, 2e5, "B");
    case_value(&run->c, LEVEL_INTER_NODE, PROTOCOL_ANY, "backlog_pair", 0, 1e9, "B");
    case_value(&run->c, LEVEL_INTER_NODE, PROTOCOL_ANY, "progress", 0, progress, "1");
    if (buffer_bytes > 0)
        case_value(&run->c, LEVEL_INTER_NODE, PROTOCOL_ANY, "buffer", 0, buffer_bytes, "B");
    run->options.law = LAW_FLOW;
    run_ranks(run, n, node);
}

/* Lets rank 1 send to rank 3, as the words say, while the other rank of each node has a longer message the same way,
 * or the other way. */
static void replay_beside(struct run_case *run, bool same_way, uint64_t other_bytes, uint64_t bytes, const char *words)
{
    run_message(run, same_way ? 0 : 2, same_way ? 2 : 0, other_bytes, 0);
    run_message(run, 1, 3, bytes, 0);
    run_rank(run, same_way ? "S0" : "R0");
    run_rank(run, words);
    run_rank(run, same_way ? "R0" : "S0");
    run_rank(run, "R1");
    run_replay(run);
}

/* The answer leaves a node whose card has a long message of others: 0.2 for that. Other laws know of no cards. */
static void answer_waits(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 0, 1, 1};
    for (enum run_law law = LAW_STAIRCASE; law <= LAW_FAIR; law++) {
        struct run_case run = RUN_CASE;
        bool waits = law == LAW_FLOW || law == LAW_FLOW_WINDOW;
        begin(&run, 4, node, 0, 0);
        run.options.law = law;
        replay_beside(&run, false, 8 * MB, MB, "c1 S1");
        assert_end(&run, 3, waits ? 2.5 : 2.3);
        assert_part(&run, 3, RUN_LATE_SENDER, 1);
        assert_part(&run, 3, RUN_QUEUE, waits ? 0.2 : 0);
        assert_part(&run, 3, RUN_LATENCY, 0.3);
        assert_part(&run, 3, RUN_BANDWIDTH, 1);
        assert_end(&run, 0, 8.3);
        run_release(&run);
    }
}

/* The announcement leaves such a node, and then shares its card. */
static void announcement_waits(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 0, 1, 1};
    struct run_case run = RUN_CASE;
    begin(&run, 4, node, 0, 0);
    replay_beside(&run, true, 8 * MB, MB, "c1 S1");
    assert_end(&run, 3, 1 + 0.2 + 0.2 + 2 + 0.1);
    assert_part(&run, 3, RUN_QUEUE, 0.2);
    assert_part(&run, 3, RUN_CONTENTION, 1);
    assert_part(&run, 1, RUN_QUEUE, 0.2);
    assert_part(&run, 1, RUN_LATENCY, 0.2);
    assert_end(&run, 1, 3.4);
    run_release(&run);
}

/* A long message that is nearly through has only its rest before others. */
static void rest_waits(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 0, 1, 1};
    struct run_case run = RUN_CASE;
    begin(&run, 4, node, 0, 0);
    replay_beside(&run, true, MB, MB, "c1.15 S1");
    assert_part(&run, 3, RUN_QUEUE, 0.05);
    assert_end(&run, 3, 1.15 + 0.05 + 1.3);
    run_release(&run);
}

/* An announcement stands behind data of the same ranks until they are through, however long others share the card: from
 * 1.7 on half of it is theirs. */
static void announcement_follows_data(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 0, 1, 1};
    struct run_case run = RUN_CASE;
    begin(&run, 4, node, 0, 0);
    run_message(&run, 0, 2, 2 * MB, 0);
    run_message(&run, 0, 2, MB, 0);
    run_message(&run, 1, 3, 8 * MB, 0);
    run_rank(&run, "s0 c1 s1 w:s0:s1");
    run_rank(&run, "c1.3 S2");
    run_rank(&run, "r0 r1 w:r1 w:r0");
    run_rank(&run, "R2");
    run_replay(&run);
    assert_part(&run, 2, RUN_LATE_SENDER, 1);
    assert_part(&run, 2, RUN_QUEUE, 1.7);
    assert_part(&run, 2, RUN_CONTENTION, 1);
    assert_end(&run, 2, 2.7 + 0.2 + 2 + 0.1);
    run_release(&run);
}

/* Where less than all of it stands before others of the same ranks, as much of each other pair passes meanwhile. */
static void others_pass_as_well(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 0, 1, 1};
    struct run_case run = RUN_CASE;
    begin(&run, 4, node, 0, 0);
    for (size_t i = 0; i < run.c.machine.n_parameters; i++)
        if (strcmp(run.c.machine.parameters[i].quantity, "backlog_pair") == 0)
            run.c.machine.parameters[i].value = 5e5;
    run_message(&run, 0, 2, 8 * MB, 0);
    run_message(&run, 0, 2, MB, 0);
    run_message(&run, 1, 3, 8 * MB, 0);
    run_rank(&run, "s0 c3 s1 w:s0:s1");
    run_rank(&run, "S2");
    run_rank(&run, "r0 r1 w:r1 w:r0");
    run_rank(&run, "R2");
    run_replay(&run);
    assert_part(&run, 2, RUN_QUEUE, 1);
    assert_end(&run, 2, 17.3);
    run_release(&run);
}

/* Two ranks exchange twice. The first time both directions go at once, and the one that began later ends later. So one
 * rank has announced its next message before the other one begins to wait for it, which answers at once: the second
 * time they go one after the other. */
static void crossing_ends_apart(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 1};
    struct run_case run = RUN_CASE;
    begin(&run, 2, node, 3, 0);
    for (uint32_t k = 0; k < 4; k++)
        run_message(&run, k % 2, 1 - k % 2, 10 * MB, 0);
    run_rank(&run, "r1 s0 w:r1:s0 r3 s2 w:r3:s2");
    run_rank(&run, "c0.05 r0 s1 w:r0:s1 r2 s3 w:r2:s3");
    run_replay(&run);
    assert_end(&run, 0, 0.25 + 10 + 0.2 + 0.1 + 0.1 + 10 + 0.1 + 10);
    assert_end(&run, 1, 30.85);
    assert_part(&run, 0, RUN_QUEUE, 10);
    run_release(&run);
}

/* Rank 1 answers as it posts its receive, so that rank 0 hands its data over before it answers: both directions of a
 * pair go one after the other. Where rank 1 announces first they go at the same time. So they do where a receive does
 * not look for messages, since its rank answers in the wait behind both posts then. The later one takes 0.02 longer. */
static void one_direction_after_the_other(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 1};
    for (int way = 0; way < 3; way++) {
        struct run_case run = RUN_CASE;
        begin(&run, 2, node, way == 2 ? 3 : 0, 0);
        run_message(&run, 0, 1, MB, 0);
        run_message(&run, 1, 0, MB, 0);
        run_rank(&run, "r1 s0 w:s0:r1");
        run_rank(&run, way == 1 ? "c1 s1 c0.01 r0 w:s1:r0" : "c1 r0 s1 c0.01 w:s1:r0");
        run_replay(&run);
        assert_end(&run, 0, way == 0 ? 3.3 : 2.32);
        assert_end(&run, 1, way == 0 ? 3.2 : 2.21);
        assert_part(&run, 0, RUN_QUEUE, way == 0 ? 1 : 0);
        run_release(&run);
    }
}

/* A rank takes in its next wait what has come while it computed: the receiver the announcement, the sender the answer.
 */
static void ranks_look(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 1};
    struct run_case run = RUN_CASE;
    begin(&run, 2, node, 3, 0);
    run_message(&run, 0, 1, MB, 0);
    run_rank(&run, "s0 c3 w:s0");
    run_rank(&run, "r0 c2 w:r0");
    run_replay(&run);
    assert_end(&run, 0, 4);
    assert_end(&run, 1, 4.1);
    assert_part(&run, 1, RUN_LATENCY, 0.2);
    assert_part(&run, 1, RUN_PROGRESS, 0.9);
    assert_part(&run, 1, RUN_BANDWIDTH, 1);
    run_release(&run);
}

/* A short message is through behind the 0.2 MB before it; a long one is slower by its share of the card anyway. */
static void eager_waits(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 0, 1, 1};
    for (int is_long = 0; is_long < 2; is_long++) {
        struct run_case run = RUN_CASE;
        begin(&run, 4, node, 0, 0);
        replay_beside(&run, true, 8 * MB, is_long ? 9 * MB / 10 : MB / 10, "c1 S1");
        assert_end(&run, 3, is_long ? 2.9 : 1.4);
        assert_part(&run, 3, RUN_QUEUE, is_long ? 0 : 0.1);
        assert_part(&run, 3, RUN_CONTENTION, is_long ? 0.9 : 0.1);
        assert_part(&run, 3, RUN_LATENCY, 0.1);
        run_release(&run);
    }
}

/* Between nodes what fits into the buffer moves without its ranks, once both have agreed. Of more than that the sender
 * must stay until the buffer has the rest. */
static void buffer_moves(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 1};
    for (int is_long = 0; is_long < 2; is_long++) {
        struct run_case run = RUN_CASE;
        begin(&run, 2, node, 3, 2e6);
        run_message(&run, 0, 1, is_long ? 3 * MB : MB, 0);
        run_rank(&run, "S0 c9");
        run_rank(&run, is_long ? "R0" : "r0 x0.5 c3 w:r0");
        run_replay(&run);
        assert_part(&run, 0, RUN_BANDWIDTH, is_long ? 1 : 0);
        assert_end(&run, 0, is_long ? 10.2 : 9.2);
        assert_end(&run, 1, is_long ? 3.3 : 3.5);
        run_release(&run);
    }
}

/* Without rows of a backlog the same holds, and the handshake is one latency. A buffered send is over at once, and its
 * sender is needed all the same until the buffer has the rest. */
static void buffer_moves_without_backlog(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 1};
    for (int is_buffered = 0; is_buffered < 2; is_buffered++) {
        struct run_case run = RUN_CASE;
        for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
            case_value(&run.c, level, PROTOCOL_RENDEZVOUS, "tau", 0, 3e-4, "s");
            case_value(&run.c, level, PROTOCOL_RENDEZVOUS, "bw", 1, 1e9, "B/s");
            case_value(&run.c, level, PROTOCOL_ANY, "progress", 0, 3, "1");
            case_value(&run.c, level, PROTOCOL_ANY, "buffer", 0, 2e6, "B");
        }
        run_ranks(&run, 2, node);
        run_message(&run, 0, 1, 3 * MB, is_buffered ? MESSAGE_BUFFERED : 0);
        run_rank(&run, is_buffered ? "S0 c1 x1.1 c9" : "S0 c9");
        run_rank(&run, is_buffered ? "R0" : "r0 x0.8 c1 w:r0");
        run_replay(&run);
        assert_end(&run, 0, is_buffered ? 11.1 : 11.3); /* stands still from 0.8 to 1.8; the sender goes on at 2.3 */
        assert_end(&run, 1, is_buffered ? 4 : 4.3);
        run_release(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer_waits),
        cmocka_unit_test(announcement_waits),
        cmocka_unit_test(announcement_follows_data),
        cmocka_unit_test(others_pass_as_well),
        cmocka_unit_test(crossing_ends_apart),
        cmocka_unit_test(rest_waits),
        cmocka_unit_test(one_direction_after_the_other),
        cmocka_unit_test(ranks_look),
        cmocka_unit_test(eager_waits),
        cmocka_unit_test(buffer_moves),
        cmocka_unit_test(buffer_moves_without_backlog),
    };
    return cmocka_run_group_tests_name("run_backlog", tests, NULL, NULL);
}

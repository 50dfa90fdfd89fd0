/* Tests by hand what messages lose to computation in the replay of a run (share/doc/MODELS.md, Whole run, Memory), and
 * that nothing changes where there is enough for both. Times are ms; 1 MB takes 1 ms alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/models/run_case.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { MB = 1000000 };

/* Puts ranks 0 and 6 on nodes of their own, 1 to 3 on a socket of node 1, 4 and 5 on its other one. */
static const uint32_t nodes[] = {0, 1, 1, 1, 1, 1, 2}, sockets[] = {0, 0, 0, 0, 1, 1, 0};

/* Adds rows by which a message keeps 1, 0.6 and 0.5 of its bandwidth beside 1, 2 and 3 cores. */
static void add_memory(struct run_case *run, double total, double alpha, const char *method)
{
    static const struct {
        const char *quantity, *unit;
        double value;
    } rows[] = {{"memory_cores_par", "1", 2},    {"memory_cores_seq", "1", 3},    {"memory_loss_left", "B/s", 1e9},
                {"memory_loss_right", "B/s", 0}, {"memory_message", "B/s", 10e9}, {"memory_computation", "B/s", 12e9}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, rows[i].quantity, 0, rows[i].value, rows[i].unit);
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "memory_total_par", 0, total, "B/s");
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "memory_total_seq", 0, total - 2e9, "B/s");
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "memory_total_par2", 0, total - 1e9, "B/s");
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "memory_alpha", 0, alpha, "1");
    for (size_t i = 0; i < run->c.machine.n_parameters; i++)
        if (strncmp(run->c.machine.parameters[i].quantity, "memory_", 7) == 0)
            strcpy(run->c.machine.parameters[i].method, method);
    run->options.terms = RUN_TERM_MEMORY;
}

/* node-aware does not know who receives. */
static enum run_law next_law(enum run_law law)
{
    return law + 1 == LAW_NODE_AWARE ? law + 2 : law + 1;
}

static void start(struct run_case *run, enum run_law law)
{
    *run = (struct run_case){.options.law = law};
    run_ranks(run, 7, nodes);
    placement_release(&run->c.placement);
    case_place(&run->c, 7, nodes, sockets);
}

/* Replays words[7] with 10 MB from 0 to 1 under all laws, and compares when rank 1 is done. */
static void assert_message(const char *const *words, unsigned progress, double end_ms, double slowdown)
{
    for (enum run_law law = LAW_POSTAL; law < LAW_COUNT; law = next_law(law)) {
        struct run_case run;
        start(&run, law);
        add_memory(&run, 30e9, 0.5, "memory");
        case_value(&run.c, LEVEL_INTER_NODE, PROTOCOL_ANY, "progress", 0, progress, "1");
        run_message(&run, 0, 1, 10 * MB, 0);
        for (uint32_t rank = 0; rank < 7; rank++)
            run_rank(&run, words[rank]);
        run_replay(&run);
        assert_end(&run, 1, end_ms);
        assert_close(run.result.compute_slowdown, slowdown, 1e-12);
        assert_int_equal(run.result.n_contending, 1);
        assert_int_equal(run.result.n_small, 0);
        run_release(&run);
    }
}

static void one_message(void **state)
{
    (void)state;
    /* Two compute all the time; the other socket does not count, nor does what begins later. */
    assert_message((const char *[]){"S0", "R0", "c30", "c30", "c30", "c30", ""}, 0, 10 / 0.6, 1);
    assert_message((const char *[]){"S0", "R0", "c30", "", "c30", "c30", ""}, 0, 10, 1);
    /* One ends after 6 ms with 3.6 MB there, or begins again at 8, for the last 4.4 MB. */
    assert_message((const char *[]){"S0", "R0", "c6", "c30", "", "", ""}, 0, 12.4, 1);
    assert_message((const char *[]){"S0", "R0", "c6 x2 c30", "c30", "", "", ""}, 0, 8 + 4.4 / 0.6, 1);
    /* The receiver computes as the third for 4 ms, in which 2 MB come, and computation takes 28/24 as long; then 10.
     * For 40/3 ms the two others compute alone. */
    assert_message((const char *[]){"S0", "r0 c4 w:r0", "c30", "c30", "", "", ""}, 0, 4 + 8 / 0.6,
                   (4 * 3 * 28 / 24.0 + 2 * 8 / 0.6) / (4 * 3 + 2 * 8 / 0.6));
    /* It must be inside MPI: nothing comes while it computes, and it is none of those that compute. */
    assert_message((const char *[]){"S0", "r0 c4 w:r0", "c30", "c30", "", "", ""}, 2, 4 + 10 / 0.6, 1);
    assert_message((const char *[]){"S0", "r0 c4 w:r0", "", "", "", "", ""}, 2, 14, 1);
}

/* A rank that had a processor twice as long as it computed has another thread that did. */
static void threads_that_call_nothing(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 3; threads++) {
        struct run_case run;
        start(&run, LAW_FLOW);
        add_memory(&run, 30e9, 0.5, "memory");
        run_message(&run, 0, 1, 10 * MB, 0);
        run_rank(&run, "S0");
        run_rank(&run, "R0");
        run_rank(&run, "c30");
        for (int rank = 3; rank < 7; rank++)
            run_rank(&run, "");
        run.program.ranks[2].run_s = 0.03 * threads;
        run_replay(&run);
        assert_end(&run, 1, 10 / (threads == 1 ? 1 : threads == 2 ? 0.6 : 0.5));
        run_release(&run);
    }
}

/* Messages to both sockets of a node share what comes in; the one to the socket that computes has 0.6 of its half. When
 * the other one is through after 20 ms, 6 MB of it are there, and the rest has 0.6 of all. */
static void sockets_apart(void **state)
{
    (void)state;
    for (enum run_law law = LAW_STAIRCASE; law < LAW_COUNT; law++) {
        struct run_case run;
        start(&run, law);
        add_memory(&run, 30e9, 0.5, "memory");
        run_message(&run, 0, 1, 10 * MB, 0);
        run_message(&run, 6, 4, 10 * MB, 0);
        run_rank(&run, "S0");
        run_rank(&run, "R0");
        run_rank(&run, "c50");
        run_rank(&run, "c50");
        run_rank(&run, "R1");
        run_rank(&run, "");
        run_rank(&run, "S1");
        run_replay(&run);
        assert_end(&run, 4, 20);
        assert_end(&run, 1, 20 + 4 / 0.6);
        assert_part(&run, 1, RUN_BANDWIDTH, 10);
        assert_part(&run, 1, RUN_CONTENTION, 10 + 4 / 0.6);
        run_release(&run);
    }
}

/* Copies within a node contend by a table of the method cpu-copy alone, which refuses messages between nodes. */
static void methods(void **state)
{
    (void)state;
    for (int copied = 0; copied < 2; copied++) {
        struct run_case run;
        start(&run, LAW_FAIR);
        add_memory(&run, 30e9, 0.5, copied ? "cpu-copy" : "memory");
        run_message(&run, 4, 1, 6 * MB / 10, 0);
        run_rank(&run, "");
        run_rank(&run, "R0");
        run_rank(&run, "c50");
        run_rank(&run, "c50");
        run_rank(&run, "S0");
        run_rank(&run, "");
        run_rank(&run, "");
        run_replay(&run);
        assert_end(&run, 1, copied ? 1 : 0.6);
        assert_int_equal(run.result.n_contending, copied);
        assert_int_equal(run.result.n_small, copied);
        run_release(&run);
    }
    struct run_case run;
    struct error error;
    start(&run, LAW_FLOW);
    add_memory(&run, 30e9, 0.5, "cpu-copy");
    run_message(&run, 0, 1, 1, 0);
    run_rank(&run, "S0");
    run_rank(&run, "R0");
    for (int rank = 2; rank < 7; rank++)
        run_rank(&run, "");
    assert_int_equal(simulate(&run.program, &run.c.machine, &run.c.placement, &run.options, &run.result, &error), -1);
    assert_non_null(strstr(error.text, "between nodes"));
    run_release(&run);
}

static void senders_alone(void **state)
{
    (void)state;
    struct run_case run;
    struct error error;
    start(&run, LAW_NODE_AWARE);
    add_memory(&run, 30e9, 0.5, "memory");
    for (int rank = 0; rank < 7; rank++)
        run_rank(&run, "");
    assert_int_equal(simulate(&run.program, &run.c.machine, &run.c.placement, &run.options, &run.result, &error), -1);
    assert_non_null(strstr(error.text, "who receives"));
    run_release(&run);
}

/* Draws a run: every rank computes and sends to two others in some order, eight times; with a token bucket. */
static void draw_run(struct run_case *run, enum run_law law, uint64_t seed)
{
    struct chance chance = {.state = seed};
    char words[7][1024] = {""};
    start(run, law);
    case_value(&run->c, LEVEL_INTER_NODE, PROTOCOL_ANY, "burst", 0, 2e5, "B");
    for (uint32_t step = 0; step < 8; step++) {
        uint32_t distance = 1 + (uint32_t)chance_below(&chance, 6);
        for (uint32_t rank = 0; rank < 7; rank++) {
            uint32_t to = (rank + distance) % 7, from = (rank + 7 - distance) % 7;
            char *at = words[rank] + strlen(words[rank]);
            run_message(run, rank, to, 1 + chance_below(&chance, 3 * MB), 0);
            snprintf(at, sizeof words[rank] - (size_t)(at - words[rank]), "r%u s%u c%u.%u w:r%u:s%u ", step * 7 + from,
                     step * 7 + rank, (unsigned)chance_below(&chance, 3), (unsigned)chance_below(&chance, 10),
                     step * 7 + from, step * 7 + rank);
        }
    }
    for (uint32_t rank = 0; rank < 7; rank++)
        run_rank(run, words[rank]);
}

/* With memory for all and alpha = 1 the run is the one without. With less of it computation takes as long, and where
 * messages share nothing else no rank is done earlier. */
static void enough_for_all(void **state)
{
    (void)state;
    enum run_law law = LAW_POSTAL;
    for (uint64_t seed = 0; seed < 60; seed++, law = next_law(law) < LAW_COUNT ? next_law(law) : LAW_POSTAL) {
        struct run_case runs[3];
        for (int i = 0; i < 3; i++) {
            draw_run(&runs[i], law, seed);
            if (i > 0)
                add_memory(&runs[i], i == 1 ? 1e12 : 30e9, i == 1 ? 1 : 0.5, "memory");
            run_replay(&runs[i]);
        }
        for (uint32_t rank = 0; rank < 7; rank++)
            assert_close(runs[1].result.rank_end_s[rank], runs[0].result.rank_end_s[rank], 1e-12);
        assert_close(runs[1].result.compute_slowdown, 1, 1e-15);
        for (uint32_t rank = 0; rank < 7; rank++) {
            assert_close(runs[2].parts[rank].part_s[RUN_COMPUTATION], runs[0].parts[rank].part_s[RUN_COMPUTATION],
                         1e-12);
            assert_true(runs[0].options.law != LAW_POSTAL ||
                        runs[2].result.rank_end_s[rank] >= runs[0].result.rank_end_s[rank] * (1 - 1e-12));
        }
        for (int i = 0; i < 3; i++)
            run_release(&runs[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_message),   cmocka_unit_test(threads_that_call_nothing),
        cmocka_unit_test(sockets_apart), cmocka_unit_test(methods),
        cmocka_unit_test(senders_alone), cmocka_unit_test(enough_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests what the load of the network's links costs in the replay of a run (share/doc/MODELS.md, Whole run, Terms): by
 * hand, against the round's term +contention, against loads that are added up anew at every begin; and that all terms
 * go with all laws. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/terms/topology.h"
#include "tests/models/run_case.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { MB = 1000000, MAX_RANKS = 60 };

static struct topology measured(struct topology topology)
{
    struct error error = {.text = ""};
    if (topology_measure(&topology, &error) != 0)
        fail_msg("%s", error.text);
    return topology;
}

/* Nodes in a row, one a router. */
static struct topology row_of(uint32_t n)
{
    return measured(
        (struct topology){.name = "row", .kind = TOPOLOGY_MESH, .n_levels = 1, .size = {n}, .nodes_per_router = 1});
}

/* Begins a run of a rank a node on the machine of run_eager_machine, where a byte on a link costs 1 ns. */
static void start(struct run_case *run, enum run_law law, size_t n_ranks, const struct topology *topology)
{
    *run = (struct run_case){.options = {.law = law, .terms = RUN_TERM_CONTENTION, .topology = topology}};
    run_eager_machine(run);
    case_value(&run->c, LEVEL_COUNT, PROTOCOL_ANY, "delta", 0, 1e-9, "s/B");
    run_ranks(run, n_ranks, NULL);
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        run->c.placement.node[rank] = rank;
}

/* Rank 0 sends 1 MB over links 0-1 and 1-2, rank 1 sends 0.5 MB over 1-2 meanwhile: both find 1.5 MB there. What rank 1
 * sends at 1, as the first ends, meets it no more. Rank 3 sends the other way, over links of its own. */
static void by_hand(void **state)
{
    (void)state;
    struct topology row = row_of(4);
    struct run_case run;
    start(&run, LAW_POSTAL, 4, &row);
    run_message(&run, 0, 2, MB, 0);
    run_message(&run, 1, 2, MB / 2, 0);
    run_message(&run, 1, 2, MB / 4, 0);
    run_message(&run, 3, 0, MB, 0);
    run_rank(&run, "s0 R3");
    run_rank(&run, "c0.25 s1 c0.75 s2");
    run_rank(&run, "R0 R1 R2");
    run_rank(&run, "S3");
    run_replay(&run);
    assert_end(&run, 0, 1 + 0.1 + 1);
    assert_end(&run, 2, 1 + 0.1 + 1.5);
    assert_part(&run, 2, RUN_CONTENTION, 1.5);
    assert_part(&run, 2, RUN_LATENCY, 0.1);
    run_release(&run);
    /* What is sent later is alone on its link. Its receiver begins to wait when all its bytes have moved. */
    start(&run, LAW_POSTAL, 4, &row);
    run_message(&run, 0, 2, MB, 0);
    run_message(&run, 1, 2, MB / 2, 0);
    run_message(&run, 1, 2, MB / 4, 0);
    run_rank(&run, "s0");
    run_rank(&run, "c0.25 s1 c2 s2");
    run_rank(&run, "r0 r1 w:r0:r1 c0.05 R2");
    run_rank(&run, "");
    run_replay(&run);
    assert_end(&run, 2, 2.25 + 0.25 + 0.1 + 0.25);
    assert_part(&run, 2, RUN_CONTENTION, 1.5 + 0.2);
    run_release(&run);
    topology_release(&row);
}

/* One-sided transfers load links; messages within a node and without bytes do not. */
static void what_counts(void **state)
{
    (void)state;
    struct topology row = row_of(2);
    struct run_case run;
    start(&run, LAW_POSTAL, 4, &row);
    run.c.placement.node[1] = 0;
    run.c.placement.node[2] = run.c.placement.node[3] = 1;
    run_message(&run, 0, 2, MB, MESSAGE_ONE_SIDED);
    run_message(&run, 0, 1, MB, 0);
    run_message(&run, 0, 2, 0, 0);
    run_message(&run, 1, 3, MB / 2, 0);
    run_rank(&run, "s1 s2 s0 w:s1:s2:s0");
    run_rank(&run, "s3 R1");
    run_rank(&run, "R2");
    run_rank(&run, "R3");
    run_replay(&run);
    assert_end(&run, 0, 1 + 0.1 + 1.5);
    assert_end(&run, 1, 1 + 0.1);
    assert_end(&run, 2, 0.1);
    assert_end(&run, 3, 0.5 + 0.1 + 1.5);
    run_release(&run);
    topology_release(&row);
}

static void assert_refused(const struct run_case *run, const char *reason)
{
    struct error error = {.text = ""};
    struct simulation_result result;
    assert_int_equal(simulate(&run->program, &run->c.machine, &run->c.placement, &run->options, &result, &error), -1);
    assert_non_null(strstr(error.text, reason));
    simulation_result_release(&result);
}

/* A machine without delta, a node without a place, a list without the route. */
static void refused(void **state)
{
    (void)state;
    struct topology row = row_of(2);
    struct topology_route routes[] = {{.src = 0, .dst = 1, .first = 0, .n_links = 1}};
    uint32_t links[] = {0};
    const struct topology list = {.name = "list",
                                  .kind = TOPOLOGY_LINKS,
                                  .n_positions = 3,
                                  .n_links = 1,
                                  .longest = 1,
                                  .routes = routes,
                                  .n_routes = 1,
                                  .route_links = links};
    struct run_case run;
    start(&run, LAW_FLOW, 3, &list);
    run_message(&run, 0, 1, 1, 0);
    run_message(&run, 1, 0, 0, 0);
    run_rank(&run, "S0 R1");
    run_rank(&run, "R0 S1");
    run_rank(&run, "");
    run_replay(&run);
    run.program.messages[1].bytes = 1;
    assert_refused(&run, "add `route 1 0");
    run.options.topology = &row;
    assert_refused(&run, "has no place");
    run.options.topology = NULL;
    run.c.machine.n_parameters--;
    assert_refused(&run, "delta");
    run_release(&run);
    topology_release(&row);
}

/* Draws one of the shapes of networks that hold 64 nodes; NULL stands for the cube. */
static struct topology draw_topology(struct chance *chance)
{
    static const struct topology shapes[] = {
        {.name = "torus", .kind = TOPOLOGY_TORUS, .n_levels = 3, .size = {4, 2, 4}, .nodes_per_router = 2},
        {.name = "mesh", .kind = TOPOLOGY_MESH, .n_levels = 2, .size = {8, 8}, .nodes_per_router = 1},
        {.name = "tree", .kind = TOPOLOGY_FAT_TREE, .n_levels = 3, .size = {4, 4, 4}, .parents = {1, 2, 2}},
        {.name = "fly",
         .kind = TOPOLOGY_DRAGONFLY,
         .nodes_per_router = 2,
         .groups = 9,
         .routers = 4,
         .global_links = 2}};
    return measured(shapes[chance_below(chance, sizeof shapes / sizeof shapes[0])]);
}

/* From a common start, with one message a rank, a receiver's time is that of the law and the round's part *link*. */
static void against_the_round(void **state)
{
    (void)state;
    struct chance chance = {.state = 3};
    for (int i = 0; i < 300; i++) {
        struct topology topology = draw_topology(&chance);
        struct run_case runs[2];
        uint32_t n = 2 * (uint32_t)(1 + chance_below(&chance, MAX_RANKS / 2)), order[MAX_RANKS];
        bool long_ones = chance_below(&chance, 2) == 0, in_cube = i % 5 == 0;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t at = (uint32_t)chance_below(&chance, k + 1);
            order[k] = order[at];
            order[at] = k;
        }
        uint64_t state_before = chance.state;
        for (int with = 0; with < 2; with++) {
            struct run_case *run = &runs[with];
            uint32_t message[MAX_RANKS];
            chance.state = state_before;
            start(run, (enum run_law)(i % LAW_COUNT), n, in_cube ? NULL : &topology);
            run->options.terms = with ? RUN_TERM_CONTENTION : 0;
            for (uint32_t k = 0; k < n; k += 2) {
                uint64_t bytes = (long_ones ? 2 * MB : 1) + chance_below(&chance, MB);
                message[order[k]] = message[order[k + 1]] = k / 2;
                run_message(run, order[k], order[k + 1], bytes, 0);
                case_add(&run->c, order[k], order[k + 1], bytes);
            }
            for (uint32_t rank = 0; rank < n; rank++) {
                char word[16];
                bool sends = run->program.messages[message[rank]].src == rank;
                snprintf(word, sizeof word, "%c%u", sends ? 'S' : 'R', message[rank]);
                run_rank(run, word);
            }
            run_replay(run);
        }
        struct prediction prediction;
        struct model_choice choice;
        struct error error;
        const struct model_options options = {.topology = in_cube ? NULL : &topology};
        assert_int_equal(model_choose("postal+contention", &choice), 0);
        prediction_init(&prediction, n);
        assert_int_equal(model_choice_predict(&choice, &runs[0].c.pattern, &runs[0].c.placement, &runs[0].c.machine,
                                              &options, &prediction, &error),
                         0);
        for (uint32_t k = 0; k < n; k += 2) {
            uint32_t sender = order[k], receiver = order[k + 1];
            double link_s = prediction.part_s[PART_LINK][receiver];
            assert_true(in_cube || link_s >= 0);
            assert_end(&runs[1], receiver, (runs[0].result.rank_end_s[receiver] + link_s) * 1e3);
            assert_end(&runs[1], sender, runs[0].result.rank_end_s[sender] * 1e3);
            if (runs[0].options.law == LAW_POSTAL)
                assert_end(&runs[1], receiver, prediction.time_s[receiver] * 1e3);
        }
        prediction_release(&prediction);
        run_release(&runs[0]);
        run_release(&runs[1]);
        topology_release(&topology);
    }
}

/* Describes a message of the law postal, which moves from begin_s to end_s. */
struct move {
    double begin_s, end_s, bytes;
    uint32_t src, dst;
};

/* Returns what a link holds once a moment is over. */
static double load_at(const struct topology *topology, const struct move *moves, size_t n, uint32_t link, double at_s)
{
    uint32_t route[64];
    double bytes = 0;
    for (size_t k = 0; k < n; k++) {
        long length = topology_route(topology, moves[k].src, moves[k].dst, route);
        for (long i = 0; i < length; i++)
            bytes += route[i] == link && moves[k].begin_s <= at_s && at_s < moves[k].end_s ? moves[k].bytes : 0;
    }
    return bytes;
}

/* Returns the most that a link of its way held while message k moved, looked for at every begin. */
static double most_bytes(const struct topology *topology, const struct move *moves, size_t n, size_t k)
{
    uint32_t route[64];
    double most = 0;
    long length = topology_route(topology, moves[k].src, moves[k].dst, route);
    for (long i = 0; i < length; i++)
        for (size_t other = 0; other < n; other++)
            if (moves[other].begin_s >= moves[k].begin_s && moves[other].begin_s < moves[k].end_s)
                most = fmax(most, load_at(topology, moves, n, route[i], moves[other].begin_s));
    return most;
}

/* Finds when every rank is done: end_s[n]. */
static void find_ends(const struct topology *topology, const struct move *moves, size_t n, double *end_s)
{
    for (size_t rank = 0; rank < n; rank++) {
        const struct move *move = &moves[rank]; /* that it gets */
        bool is_eager = move->bytes < 2 * MB;
        if (move->src == rank)
            end_s[rank] = move->begin_s - (is_eager ? 0 : 1e-4);
        else
            end_s[rank] = move->end_s + (is_eager ? 1e-4 : 0) + 1e-9 * most_bytes(topology, moves, n, rank);
        for (size_t k = 0; k < n; k++)
            if (moves[k].src == rank && k != rank)
                end_s[rank] = fmax(end_s[rank], moves[k].bytes < 2 * MB ? moves[k].begin_s : moves[k].end_s);
    }
}

/* Random programs, with begins at the same moments and at any; a rank gets one message. If one of them, which another
 * one delays, did not count, that would be seen. */
static void against_sums(void **state)
{
    (void)state;
    enum { N = 40, CASES = 200 };
    struct chance chance = {.state = 4};
    int n_seen = 0;
    for (int i = 0; i < CASES; i++) {
        struct topology topology = draw_topology(&chance);
        struct run_case run;
        struct move moves[N];
        assert_true(topology.longest <= 64);
        start(&run, LAW_POSTAL, N, &topology);
        for (uint32_t k = 0; k < N; k++) {
            uint32_t src = (uint32_t)chance_below(&chance, N);
            uint64_t bytes = 1 + chance_below(&chance, 3 * MB);
            moves[k] = (struct move){.bytes = (double)bytes, .src = src, .dst = k};
            run_message(&run, src, k, bytes, 0);
        }
        for (uint32_t rank = 0; rank < N; rank++) {
            char words[1024] = "", wait[512] = "";
            double at_ms = 0;
            sprintf(words, "r%u", rank);
            sprintf(wait, " w:r%u", rank);
            for (uint32_t k = 0; k < N; k++) {
                if (moves[k].src != rank)
                    continue;
                uint64_t pause = i % 2 == 0 ? chance_below(&chance, 4) * 1000 : chance_below(&chance, 3000);
                double pause_ms = (double)pause * 1e-3;
                at_ms += pause_ms;
                sprintf(words + strlen(words), " c%g s%u", pause_ms, k);
                sprintf(wait + strlen(wait), ":s%u", k);
                moves[k].begin_s = at_ms * 1e-3 + (moves[k].bytes < 2 * MB ? 0 : 1e-4);
                moves[k].end_s = moves[k].begin_s + moves[k].bytes * 1e-9;
            }
            run_rank(&run, strcat(words, wait));
        }
        run_replay(&run);
        double end_s[N], faulty_s[N];
        bool seen = false;
        find_ends(&topology, moves, N, end_s);
        moves[chance_below(&chance, N)].src = N + 1; /* from a node to which nobody sends */
        find_ends(&topology, moves, N, faulty_s);
        for (uint32_t rank = 0; rank < N; rank++) {
            assert_end(&run, rank, end_s[rank] * 1e3);
            seen = seen || fabs(end_s[rank] - faulty_s[rank]) > 1e-9;
        }
        n_seen += seen;
        run_release(&run);
        topology_release(&topology);
    }
    assert_in_range(n_seen, CASES / 2, CASES);
}

/* Draws a run of 12 ranks on 3 nodes: each computes, sends to another one and receives, eight times. */
static void draw_run(struct run_case *run, uint64_t seed)
{
    struct chance chance = {.state = seed};
    static const uint32_t node[12] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
    char words[12][1024] = {""};
    run_eager_machine(run);
    case_value(&run->c, LEVEL_INTER_NODE, PROTOCOL_ANY, "burst", 0, 2e5, "B");
    if (seed % 3 == 0) {
        case_value(&run->c, LEVEL_INTER_NODE, PROTOCOL_ANY, "backlog", 0, 1e5, "B");
        case_value(&run->c, LEVEL_INTER_NODE, PROTOCOL_ANY, "progress", 0, 3, "1");
    }
    run_ranks(run, 12, node);
    for (uint32_t step = 0; step < 8; step++) {
        uint32_t distance = 1 + (uint32_t)chance_below(&chance, 11);
        for (uint32_t rank = 0; rank < 12; rank++) {
            uint32_t to = (rank + distance) % 12, from = (rank + 12 - distance) % 12;
            char *at = words[rank] + strlen(words[rank]);
            bool late = chance_below(&chance, 2) == 0;
            run_message(run, rank, to, chance_below(&chance, 3 * MB), 0);
            snprintf(at, sizeof words[rank] - (size_t)(at - words[rank]),
                     late ? "s%2$u c%3$u.%4$u r%1$u w:r%1$u:s%2$u " : "r%1$u s%2$u c%3$u.%4$u w:r%1$u:s%2$u ",
                     step * 12 + from, step * 12 + rank, (unsigned)chance_below(&chance, 3),
                     (unsigned)chance_below(&chance, 10));
        }
    }
    run_modelled(run, COLLECTIVE_ALLREDUCE, 0, 800);
    for (uint32_t rank = 0; rank < 12; rank++)
        run_rank(run, strcat(words[rank], "B0"));
}

/* Adds rows for all terms, by which none of them costs anything, or each does. */
static void add_terms(struct run_case *run, bool costs)
{
    static const struct {
        const char *quantity, *unit;
        double value;
    } rows[] = {{"memory_cores_par", "1", 2},    {"memory_cores_seq", "1", 3},    {"memory_loss_left", "B/s", 1e9},
                {"memory_loss_right", "B/s", 0}, {"memory_message", "B/s", 10e9}, {"memory_computation", "B/s", 12e9}};
    double total = costs ? 30e9 : 1e12;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, rows[i].quantity, 0, rows[i].value, rows[i].unit);
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "memory_total_par", 0, total, "B/s");
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "memory_total_seq", 0, total - 2e9, "B/s");
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "memory_total_par2", 0, total - 1e9, "B/s");
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "memory_alpha", 0, costs ? 0.5 : 1, "1");
    for (size_t i = 0; i < run->c.machine.n_parameters; i++)
        if (strncmp(run->c.machine.parameters[i].quantity, "memory_", 7) == 0)
            strcpy(run->c.machine.parameters[i].method, "memory");
    case_value(&run->c, LEVEL_COUNT, PROTOCOL_ANY, "delta", 0, costs ? 1e-9 : 0, "s/B");
    case_value(&run->c, LEVEL_COUNT, PROTOCOL_ANY, "queue_step", 64, costs ? 1e-4 : 0, "s");
}

/* Says whether a law does not go with the term memory, as it says itself. */
static bool lacks_memory(enum run_law law)
{
    struct run_case run = {.options = {.law = law, .terms = RUN_TERM_MEMORY}};
    struct error error = {.text = ""};
    draw_run(&run, 0);
    add_terms(&run, true);
    int code = simulate(&run.program, &run.c.machine, &run.c.placement, &run.options, &run.result, &error);
    assert_true(code == 0 || strstr(error.text, "does not go with the term memory") != NULL);
    assert_true(code == 0 || (law != LAW_POSTAL && law != LAW_STAIRCASE && law != LAW_FLOW && law != LAW_FAIR));
    run_release(&run);
    return code != 0;
}

/* Every set of terms goes with every law, but for memory, which needs one that knows receivers. Where they cost
 * nothing all ranks end as without them; where they do, computation takes as long, the parts add up, and with the law
 * postal, by which nobody is earlier since somebody else is late, nobody ends earlier. */
static void together(void **state)
{
    (void)state;
    struct topology row = row_of(3);
    for (uint64_t seed = 0; seed < 12; seed++)
        for (enum run_law law = 0; law < LAW_COUNT; law++)
            for (unsigned terms = 0; terms < 1U << RUN_TERM_COUNT; terms++) {
                struct run_case runs[3] = {{.options = {.law = law}}};
                double added_s = 0;
                if ((terms & RUN_TERM_MEMORY) != 0 && lacks_memory(law))
                    continue;
                for (int i = 0; i < 3; i++) {
                    runs[i].options = (struct simulation_options){.law = law, .topology = seed % 2 == 0 ? &row : NULL};
                    draw_run(&runs[i], seed);
                    runs[i].options.terms = i == 0 ? 0 : terms;
                    add_terms(&runs[i], i == 2);
                    run_replay(&runs[i]);
                }
                for (uint32_t rank = 0; rank < 12; rank++) {
                    double end_s = runs[0].result.rank_end_s[rank], late_s = runs[2].result.rank_end_s[rank];
                    assert_end(&runs[1], rank, end_s * 1e3);
                    assert_end(&runs[2], rank, late_s * 1e3);
                    assert_close(runs[2].parts[rank].part_s[RUN_COMPUTATION],
                                 runs[0].parts[rank].part_s[RUN_COMPUTATION], 1e-12);
                    assert_true(law != LAW_POSTAL || late_s >= end_s * (1 - 1e-12));
                    added_s += late_s - end_s;
                }
                assert_true(terms == 0 || fabs(added_s) > 0);
                for (int i = 0; i < 3; i++)
                    run_release(&runs[i]);
            }
    topology_release(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),           cmocka_unit_test(what_counts),  cmocka_unit_test(refused),
        cmocka_unit_test(against_the_round), cmocka_unit_test(against_sums), cmocka_unit_test(together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

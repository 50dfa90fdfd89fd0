/* Tests network contention: B7's cube, the routes of each network and the load that they give, by hand and by what must
 * hold for all pairs. Papers are named as in share/doc/MODELS.md. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/models/cases.h"
#include "predictor/models/model.h"
#include "predictor/pattern/traffic.h"
#include "predictor/terms/topology_find.h"

#include <cmocka.h> /* last: it defines fail as a macro */

static struct topology shipped(const char *name)
{
    struct topology topology;
    struct error error = {.text = ""};
    if (topology_find(name, &topology, &error) != 0)
        fail_msg("%s", error.text);
    return topology;
}

static struct topology measured(struct topology topology)
{
    struct error error = {.text = ""};
    if (topology_measure(&topology, &error) != 0)
        fail_msg("%s", error.text);
    return topology;
}

/* Puts rank k on node k. */
static void place_one_a_node(struct model_case *c, uint32_t n_nodes)
{
    case_place(c, n_nodes, NULL, NULL);
    for (uint32_t node = 0; node < n_nodes; node++)
        c->placement.node[node] = node;
}

static int add_contention(const struct model_case *c, const struct model_options *options,
                          struct prediction *prediction, struct error *error)
{
    const struct traffic traffic = {.pattern = &c->pattern};
    const struct model_input input = {
        .traffic = &traffic, .placement = &c->placement, .machine = &c->machine, .options = options};
    return contention_term.add(&input, prediction, error);
}

/* Compares the link part of every rank over delta, which is l, in bytes. It is added to what was there before, 1 s. */
static void assert_loads(const struct model_case *c, const struct topology *topology, const double *expected_bytes)
{
    const double delta_s_per_byte = 1e-10; /* Blue Waters */
    struct prediction prediction;
    struct error error = {.text = ""};
    struct model_options options = {.topology = topology};
    prediction_init(&prediction, c->placement.n_ranks);
    for (size_t rank = 0; rank < prediction.n_ranks; rank++)
        prediction.part_s[PART_LINK][rank] = 1;
    if (add_contention(c, &options, &prediction, &error) != 0)
        fail_msg("%s", error.text);
    for (size_t rank = 0; rank < prediction.n_ranks; rank++) {
        assert_close(prediction.part_s[PART_LINK][rank], 1 + delta_s_per_byte * expected_bytes[rank], 1e-15);
        for (int part = 0; part < PART_COUNT; part++)
            assert_true(part == PART_LINK || !(prediction.part_s[part][rank] > 0));
    }
    prediction_release(&prediction);
}

/* In B Fig. 8 it is 4 links from Gemini 3 to Gemini 11 of 27. Each node has two ranks; the other rank of a node, and
 * one that sends within its Gemini only, show what counts: h = (1e10 4 + 0) / (1e10 + 3e9), b ppn = 1.3e10/54. */
static void cube_by_hand(void **state)
{
    (void)state;
    struct model_case c = {0};
    case_machine(&c, "blue-waters");
    case_place(&c, 108, NULL, NULL);
    for (uint32_t rank = 0; rank < 108; rank++)
        c.placement.node[rank] = 7 + 3 * (rank / 2); /* any numbers, in ascending order */
    case_add(&c, 12, 45, 10000000000);               /* node 6, Gemini 3; node 22, Gemini 11 */
    case_add(&c, 0, 2, 3000000000);                  /* nodes 0 and 1, Gemini 0 */
    case_add(&c, 4, 5, 5000000000);                  /* within a node */
    case_add(&c, 6, 8, 0);                           /* no byte */
    const double hops = 4e10 / 1.3e10, load_bytes = 2 * hops * hops * hops * 1.3e10 / 54;
    double expected[108] = {0};
    expected[12] = expected[45] = expected[0] = expected[2] = load_bytes;
    assert_loads(&c, NULL, expected);
    case_release(&c);
}

/* In B Fig. 6 the messages of 4 nodes of G0 and G1 to G2 and G3 meet on the link from G1 to G2; node 7 answers node 6.
 */
static void line_by_hand(void **state)
{
    (void)state;
    struct model_case c = {0};
    struct topology line = shipped("gemini-line");
    case_machine(&c, "blue-waters");
    place_one_a_node(&c, 8);
    for (uint32_t node = 0; node < 4; node++) {
        case_add(&c, node, node + 4, 1000000000);
        case_add(&c, node, node + 4, 500000000);
    }
    assert_loads(&c, &line, (const double[]){6e9, 6e9, 6e9, 6e9, 6e9, 6e9, 6e9, 6e9});
    case_add(&c, 7, 1, 100000000); /* the other direction is another link */
    assert_loads(&c, &line, (const double[]){6e9, 6e9, 6e9, 6e9, 6e9, 6e9, 6e9, 6e9});
    c.pattern.n_messages = 2; /* 0 to 4 alone, and 6 to 7 on one router */
    case_add(&c, 6, 7, 1000000000);
    assert_loads(&c, &line, (const double[]){1.5e9, 0, 0, 0, 1.5e9, 0, 0, 0});
    case_release(&c);
    topology_release(&line);
}

/* Two cables carry bytes, and the nodes are where their lines say. */
static void list_by_hand(void **state)
{
    (void)state;
    struct model_case c = {0};
    struct topology list = shipped("two-switches");
    case_machine(&c, "blue-waters");
    place_one_a_node(&c, 4);
    case_add(&c, 0, 1, 100000000); /* positions 0 to 2: link 0 */
    case_add(&c, 2, 3, 300000000); /* 1 to 3: link 0 */
    case_add(&c, 3, 0, 700000000); /* 3 to 0: link 1 */
    case_add(&c, 1, 3, 900000000); /* 2 to 3: within a switch */
    assert_loads(&c, &list, (const double[]){7e8, 4e8, 4e8, 7e8});
    list.n_routes--; /* 3 to 2 */
    case_add(&c, 3, 1, 8);
    struct prediction prediction;
    struct error error = {.text = ""};
    struct model_options options = {.topology = &list};
    prediction_init(&prediction, 4);
    assert_int_equal(add_contention(&c, &options, &prediction, &error), -1);
    assert_string_equal(error.text,
                        "topology 'two-switches' has no route from position 3 to 2, which the messages need: "
                        "add `route 3 2 ...`");
    c.placement.node[2] = 9;
    assert_int_equal(add_contention(&c, &options, &prediction, &error), -1);
    assert_non_null(strstr(error.text, "node 9 has no place in topology 'two-switches' of 4 positions"));
    prediction_release(&prediction);
    case_release(&c);
    topology_release(&list);
}

/* delta between nodes counts before that of any level; none is needed where no byte leaves a node. */
static void delta_of_the_machine(void **state)
{
    (void)state;
    struct model_case c = {.machine = {.name = "bare"}};
    struct topology line = shipped("gemini-line");
    struct error error = {.text = ""};
    struct model_options options = {.topology = &line};
    struct prediction prediction;
    place_one_a_node(&c, 8);
    c.placement.node[7] = 6;
    case_add(&c, 6, 7, 1000000000);
    assert_loads(&c, &line, (const double[8]){0});
    case_add(&c, 0, 6, 1000000000);
    case_add(&c, 0, 6, 0);
    prediction_init(&prediction, 8);
    assert_int_equal(add_contention(&c, &options, &prediction, &error), -1);
    assert_string_equal(error.text, "machine 'bare' has no delta, which +contention needs: add a row `any any delta - "
                                    "VALUE s/B`, or calibrate it over a shared link");
    case_value(&c, LEVEL_COUNT, PROTOCOL_ANY, "delta", 0, 5e-9, "s/B");
    assert_int_equal(add_contention(&c, &options, &prediction, &error), 0);
    assert_close(prediction.part_s[PART_LINK][0], 5, 1e-12);
    case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "delta", 0, 1e-9, "s/B");
    assert_int_equal(add_contention(&c, &options, &prediction, &error), 0);
    assert_close(prediction.part_s[PART_LINK][0], 5 + 1, 1e-12); /* added to what was there */
    prediction_release(&prediction);
    case_release(&c);
    topology_release(&line);
}

/* Counts how often each link is crossed when every position sends one byte to every other: counts[n_links]. */
static size_t *cross_all(const struct topology *topology)
{
    size_t *counts = calloc(topology->n_links + 1, sizeof *counts);
    uint32_t *links = calloc(topology->longest + 1, sizeof *links);
    assert_true(counts != NULL && links != NULL);
    for (uint32_t src = 0; src < topology->n_positions; src++)
        for (uint32_t dst = 0; dst < topology->n_positions; dst++) {
            long n = topology_route(topology, src, dst, links);
            assert_in_range(n, 0, topology->longest);
            for (long i = 0; i < n; i++) {
                assert_true(links[i] < topology->n_links);
                for (long k = 0; k < i; k++)
                    assert_true(links[k] != links[i]);
                counts[links[i]]++;
            }
        }
    free(links);
    return counts;
}

static uint32_t apart(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

/* Grids have as many links as the coordinates are apart, ring or not. In a ring of 4 routers of 2 nodes, a link up
 * carries the pairs that are 1 and 2 apart, a link down those that are 1 apart: 3 and 1 router pairs, of 4 pairs of
 * nodes. */
static void grid_routes(void **state)
{
    (void)state;
    for (int mesh = 0; mesh < 2; mesh++) {
        struct topology grid = measured((struct topology){
            .kind = mesh ? TOPOLOGY_MESH : TOPOLOGY_TORUS, .n_levels = 3, .size = {5, 4, 3}, .nodes_per_router = 2});
        uint32_t links[16];
        assert_int_equal(grid.n_positions, 120);
        for (uint32_t src = 0; src < 120; src++)
            for (uint32_t dst = 0; dst < 120; dst++) {
                uint32_t a = src / 2, b = dst / 2, expected = 0;
                for (int d = 0; d < 3; a /= grid.size[d], b /= grid.size[d], d++) {
                    uint32_t straight = apart(a % grid.size[d], b % grid.size[d]), round = grid.size[d] - straight;
                    expected += mesh || straight < round ? straight : round;
                }
                assert_int_equal(topology_route(&grid, src, dst, links), expected);
            }
    }
    struct topology torus = shipped("torus-4x4x4");
    size_t *counts = cross_all(&torus);
    for (size_t link = 0; link < torus.n_links; link++)
        assert_int_equal(counts[link], (link % 2 == 0 ? 3 : 1) * 4 * 16); /* 16: routers of the other two dimensions */
    free(counts);
    topology_release(&torus);
}

/* A leaf's 8 nodes send to 56 others by destination over 4 parents: 8 x 14 a link, up and down alike; three levels with
 * several parents each are as even. */
static void fat_tree_routes(void **state)
{
    (void)state;
    struct topology tree = shipped("fat-tree-64");
    size_t *counts = cross_all(&tree);
    assert_int_equal(tree.n_links, 8 * 4 * 2);
    for (size_t link = 0; link < tree.n_links; link++)
        assert_int_equal(counts[link], 8 * 14);
    free(counts);
    topology_release(&tree);
    /* 4 x 4 x 4 nodes with 1, 2, 2 parents have 16 leaves, 2 links up of each; 4 x 2 switches above, 2 links up of
     * each. A leaf's 4 nodes send to 60 others over 2 links; a subtree's 16 nodes to 48 others over 2 x 2 links. */
    tree =
        measured((struct topology){.kind = TOPOLOGY_FAT_TREE, .n_levels = 3, .size = {4, 4, 4}, .parents = {1, 2, 2}});
    counts = cross_all(&tree);
    assert_int_equal(tree.n_links, 2 * (16 * 2 + 8 * 2));
    for (size_t link = 0; link < tree.n_links; link++)
        assert_int_equal(counts[link], link < 64 ? 4 * 30 : 16 * 12);
    free(counts);
    uint32_t links[4];
    assert_int_equal(topology_route(&tree, 0, 3, links), 0);  /* one leaf */
    assert_int_equal(topology_route(&tree, 0, 15, links), 2); /* one subtree */
    assert_int_equal(topology_route(&tree, 0, 16, links), 4);
}

/* Between two groups is one link: 8 x 8 pairs of nodes cross it. With 5 groups there are two, chosen by destination. */
static void dragonfly_routes(void **state)
{
    (void)state;
    struct topology fly = shipped("dragonfly-72");
    size_t *counts = cross_all(&fly), local = 9 * 4 * 4;
    assert_int_equal(fly.n_positions, 72);
    for (size_t link = local; link < fly.n_links; link++)
        assert_int_equal(counts[link], 64);
    for (size_t link = 0; link < local; link++) { /* 4 pairs of its own; else 2 ports' and 2 x 8 nodes' at each end */
        bool to_itself = link % 4 == link / 4 % 4;
        assert_int_equal(counts[link], to_itself ? 0 : 4 + 2 * 2 * 2 * 8);
    }
    free(counts);
    topology_release(&fly);
    fly = measured((struct topology){
        .kind = TOPOLOGY_DRAGONFLY, .groups = 5, .routers = 4, .global_links = 2, .nodes_per_router = 2});
    counts = cross_all(&fly);
    for (size_t link = 5 * 4 * 4; link < fly.n_links; link++)
        assert_int_equal(counts[link], 32);
    free(counts);
}

/* All bytes times their links are the load of all links, for random patterns; ranks see the heaviest of their own. */
static void loads_against_pairs(void **state)
{
    (void)state;
    struct chance chance = {.state = 11};
    struct topology torus =
        measured((struct topology){.name = "torus", .kind = TOPOLOGY_TORUS, .n_levels = 2, .size = {4, 3}});
    for (int i = 0; i < 200; i++) {
        struct model_case c = {0};
        double load[64] = {0}, expected[24] = {0};
        uint32_t links[8];
        case_machine(&c, "blue-waters");
        case_place(&c, 24, NULL, NULL);
        for (uint32_t rank = 0; rank < 24; rank++)
            c.placement.node[rank] = (uint32_t)chance_below(&chance, 12);
        for (uint64_t n = chance_below(&chance, 60); n > 0; n--)
            case_add(&c, (uint32_t)chance_below(&chance, 24), (uint32_t)chance_below(&chance, 24),
                     chance_below(&chance, 4) * 100000000);
        for (int pass = 0; pass < 2; pass++)
            for (size_t k = 0; k < c.pattern.n_messages; k++) {
                uint32_t src = c.pattern.src[k], dst = c.pattern.dst[k];
                long n = topology_route(&torus, c.placement.node[src], c.placement.node[dst], links);
                for (long l = 0; l < n && pattern_bytes(&c.pattern, k) > 0; l++)
                    if (pass == 0)
                        load[links[l]] += (double)pattern_bytes(&c.pattern, k);
                    else {
                        expected[src] = fmax(expected[src], load[links[l]]);
                        expected[dst] = fmax(expected[dst], load[links[l]]);
                    }
            }
        assert_loads(&c, &torus, expected);
        case_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cube_by_hand),     cmocka_unit_test(line_by_hand),
        cmocka_unit_test(list_by_hand),     cmocka_unit_test(delta_of_the_machine),
        cmocka_unit_test(grid_routes),      cmocka_unit_test(fat_tree_routes),
        cmocka_unit_test(dragonfly_routes), cmocka_unit_test(loads_against_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

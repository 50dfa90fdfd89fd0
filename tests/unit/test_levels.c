/* Tests which pairs and groups stand for a level: by hand, on placements of known machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/measure/levels.h"

#include <cmocka.h> /* last: it defines fail as a macro */

/* Places n ranks one behind the other: so many a cache, caches a NUMA node, NUMA nodes a socket, sockets a node. caches
 * 0 means that no L3 is known, numas 0 no NUMA node. */
static struct placement machine(size_t n, uint32_t ranks, uint32_t caches, uint32_t numas, uint32_t sockets)
{
    struct placement placement;
    placement_init(&placement, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t cache = (uint32_t)i / ranks, numa = cache / (caches > 0 ? caches : 1);
        uint32_t socket = numa / (numas > 0 ? numas : 1), node = socket / sockets;
        uint32_t caches_a_node = (caches > 0 ? caches : 1) * (numas > 0 ? numas : 1) * sockets;
        placement.node[i] = node;
        placement.socket[i] = socket % sockets;
        if (caches > 0)
            placement.l3[i] = cache % caches_a_node;
        if (numas > 0)
            placement.numa[i] = numa % (numas * sockets);
    }
    return placement;
}

static void assert_pairs(const struct pair *pairs, size_t n, const char *expected)
{
    char text[256] = "";
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d-%d", i > 0 ? " " : "", pairs[i].first,
                 pairs[i].second);
    assert_string_equal(text, expected);
}

static void assert_domains(const struct placement *placement, uint64_t none, uint64_t l3, uint64_t numa,
                           uint64_t package)
{
    uint64_t n[DOMAIN_COUNT];
    levels_domains(placement, n);
    assert_int_equal(n[DOMAIN_NONE], none);
    assert_int_equal(n[DOMAIN_L3], l3);
    assert_int_equal(n[DOMAIN_NUMA], numa);
    assert_int_equal(n[DOMAIN_PACKAGE], package);
}

static void counts_pairs_by_domain(void **state)
{
    (void)state;
    /* Two NUMA nodes have two L3 of two ranks each: of 28 pairs 4 share an L3, 2 * 4 a NUMA node only. */
    struct placement p = machine(8, 2, 2, 2, 1);
    assert_domains(&p, 0, 4, 8, 16);
    assert_int_equal(levels_domain(&p, 0, 1), DOMAIN_L3);
    assert_int_equal(levels_domain(&p, 0, 2), DOMAIN_NUMA);
    assert_int_equal(levels_domain(&p, 7, 0), DOMAIN_PACKAGE);
    placement_release(&p);
    p = machine(8, 2, 2, 1, 2); /* two such sockets with a NUMA node each */
    assert_domains(&p, 0, 4, 8, 0);
    placement_release(&p);
    p = machine(8, 8, 1, 1, 1); /* one L3: all alike */
    assert_domains(&p, 28, 0, 0, 0);
    placement_release(&p);
    p = machine(8, 4, 0, 2, 1); /* no L3, two NUMA nodes */
    assert_domains(&p, 0, 0, 12, 16);
    placement_release(&p);
    p = machine(8, 4, 0, 0, 2); /* neither is known */
    assert_domains(&p, 12, 0, 0, 0);
    p.l3[0] = p.l3[1] = 3; /* known of two only */
    assert_domains(&p, 0, 1, 0, 11);
    placement_release(&p);
    /* An L3 spans two NUMA nodes (sub-NUMA clusters): the closest of both counts once. */
    p = machine(4, 2, 1, 2, 1);
    for (int i = 0; i < 4; i++)
        p.l3[i] = 0;
    p.l3[3] = 1;
    assert_domains(&p, 0, 3, 1, 2);
    placement_release(&p);
    p = machine(1, 1, 1, 1, 1);
    assert_domains(&p, 0, 0, 0, 0);
    placement_release(&p);
}

static void spreads_pairs_of_a_domain(void **state)
{
    (void)state;
    struct pair pairs[8];
    struct placement p = machine(8, 2, 2, 2, 1);
    assert_pairs(pairs, levels_domain_pairs(&p, LEVEL_INTRA_SOCKET, DOMAIN_L3, 4, pairs), "0-1 2-3 4-5 6-7");
    assert_pairs(pairs, levels_domain_pairs(&p, LEVEL_INTRA_SOCKET, DOMAIN_L3, 8, pairs), "0-1 2-3 4-5 6-7");
    assert_pairs(pairs, levels_domain_pairs(&p, LEVEL_INTRA_SOCKET, DOMAIN_NUMA, 4, pairs), "0-2 4-6 1-3 5-7");
    size_t n = levels_domain_pairs(&p, LEVEL_INTRA_SOCKET, DOMAIN_PACKAGE, 4, pairs);
    bool used[8] = {false};
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(levels_domain(&p, pairs[i].first, pairs[i].second), DOMAIN_PACKAGE);
        assert_false(used[pairs[i].first] || used[pairs[i].second]); /* each rank once */
        used[pairs[i].first] = used[pairs[i].second] = true;
    }
    /* One pair for the level is of the domain that most pairs have. */
    assert_int_equal(levels_pairs(&p, LEVEL_INTRA_SOCKET, 1, pairs), 1);
    assert_int_equal(levels_domain(&p, pairs[0].first, pairs[0].second), DOMAIN_PACKAGE);
    assert_int_equal(levels_pairs(&p, LEVEL_INTER_SOCKET, 4, pairs), 0);
    assert_int_equal(levels_pairs(&p, LEVEL_INTER_NODE, 4, pairs), 0);
    placement_release(&p);
    /* All are alike: partners lie at different distances. */
    p = machine(8, 8, 1, 1, 1);
    assert_pairs(pairs, levels_pairs(&p, LEVEL_INTRA_SOCKET, 4, pairs), "0-1 2-4 3-6 5-7");
    placement_release(&p);
    p = machine(2, 2, 1, 1, 1);
    assert_pairs(pairs, levels_pairs(&p, LEVEL_INTRA_SOCKET, 4, pairs), "0-1");
    placement_release(&p);
    p = machine(5, 5, 1, 1, 1); /* every pair is found in the end */
    struct pair all[16];
    assert_int_equal(levels_pairs(&p, LEVEL_INTRA_SOCKET, 16, all), 10);
    placement_release(&p);
    p = machine(1, 1, 1, 1, 1);
    assert_int_equal(levels_pairs(&p, LEVEL_INTRA_SOCKET, 4, pairs), 0);
    placement_release(&p);
}

static void spreads_pairs_over_sockets_and_nodes(void **state)
{
    (void)state;
    struct pair pairs[4];
    struct placement p = machine(16, 2, 1, 1, 2); /* four nodes of two sockets of two ranks */
    assert_int_equal(levels_pairs(&p, LEVEL_INTRA_SOCKET, 4, pairs), 4);
    for (int i = 0; i < 4; i++) /* a socket each, on four nodes */
        assert_int_equal(p.node[pairs[i].first], i);
    assert_int_equal(levels_pairs(&p, LEVEL_INTER_SOCKET, 4, pairs), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(p.node[pairs[i].first], i);
    assert_int_equal(levels_pairs(&p, LEVEL_INTER_NODE, 2, pairs), 2);
    unsigned nodes = 0; /* two pairs, four nodes */
    for (int i = 0; i < 2; i++)
        nodes |= 1u << p.node[pairs[i].first] | 1u << p.node[pairs[i].second];
    assert_int_equal(nodes, 15);
    placement_release(&p);
}

static void assert_group(const struct placement *placement, const struct level_group *group, const char *name,
                         const char *pairs)
{
    (void)placement;
    assert_string_equal(group->name, name);
    assert_pairs(group->pairs, group->n_pairs, pairs);
}

static void finds_groups_of_all_sockets(void **state)
{
    (void)state;
    struct level_group groups[4];
    struct placement p = machine(8, 4, 1, 1, 2); /* a node of two sockets of four ranks */
    assert_int_equal(level_groups_find(&p, LEVEL_INTRA_SOCKET, 4, groups), 2);
    assert_group(&p, &groups[0], "node0.socket0", "0-2 1-3");
    assert_group(&p, &groups[1], "node0.socket1", "4-6 5-7");
    for (int i = 0; i < 2; i++)
        level_group_release(&groups[i]);
    assert_int_equal(level_groups_find(&p, LEVEL_INTER_SOCKET, 4, groups), 1);
    assert_group(&p, &groups[0], "node0.socket0-1", "0-4 1-5 2-6 3-7");
    level_group_release(&groups[0]);
    assert_int_equal(level_groups_find(&p, LEVEL_INTER_NODE, 4, groups), 0);
    placement_release(&p);
    /* Four nodes have two sockets of two ranks: four groups on four nodes, socket 0 and 1 in turn. */
    p = machine(16, 2, 1, 1, 2);
    assert_int_equal(level_groups_find(&p, LEVEL_INTRA_SOCKET, 4, groups), 4);
    static const char *const names[] = {"node0.socket0", "node1.socket1", "node2.socket0", "node3.socket1"};
    for (int i = 0; i < 4; i++) {
        assert_string_equal(groups[i].name, names[i]);
        level_group_release(&groups[i]);
    }
    assert_int_equal(level_groups_find(&p, LEVEL_INTER_NODE, 4, groups), 2);
    assert_group(&p, &groups[0], "node0-1", "0-4 2-6 1-5 3-7"); /* the sockets in turn */
    assert_group(&p, &groups[1], "node2-3", "8-12 10-14 9-13 11-15");
    for (int i = 0; i < 2; i++)
        level_group_release(&groups[i]);
    struct level_group group;
    assert_int_equal(level_groups_find(&p, LEVEL_INTER_SOCKET, 1, &group), 1);
    assert_group(&p, &group, "node0.socket0-1", "0-2 1-3");
    level_group_release(&group);
    placement_release(&p);
    /* The largest comes first; a single rank is no group. */
    p = machine(7, 3, 1, 1, 1);
    p.node[3] = 0;
    assert_int_equal(level_groups_find(&p, LEVEL_INTRA_SOCKET, 4, groups), 2);
    assert_group(&p, &groups[0], "node0.socket0", "0-2 1-3");
    assert_group(&p, &groups[1], "node1.socket0", "4-5");
    for (int i = 0; i < 2; i++)
        level_group_release(&groups[i]);
    placement_release(&p);
    p = machine(1, 1, 1, 1, 1);
    assert_int_equal(level_groups_find(&p, LEVEL_INTRA_SOCKET, 1, &group), 0);
    placement_release(&p);
}

/* For every N the pairs are of each domain as the rank pairs are, within one; no cache is used much more than another.
 */
static void mixes_domains_in_every_n(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        uint32_t ranks, caches, numas;
    } machines[] = {{64, 8, 8, 1}, {64, 4, 2, 8}, {32, 2, 4, 4}, {48, 3, 4, 4}, {16, 8, 2, 1}};
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++) {
        struct placement p = machine(machines[m].n, machines[m].ranks, machines[m].caches, machines[m].numas, 1);
        struct level_group group;
        uint64_t all[DOMAIN_COUNT], taken[DOMAIN_COUNT] = {0};
        levels_count_domains(&p, NULL, p.n_ranks, all);
        double n_all = (double)(p.n_ranks * (p.n_ranks - 1)) / 2;
        assert_int_equal(level_groups_find(&p, LEVEL_INTRA_SOCKET, 1, &group), 1);
        assert_int_equal(group.n_pairs, p.n_ranks / 2);
        bool used[64] = {false};
        for (size_t i = 0; i < group.n_pairs; i++) {
            const struct pair *pair = &group.pairs[i];
            assert_false(used[pair->first] || used[pair->second] || pair->first == pair->second);
            used[pair->first] = used[pair->second] = true;
            taken[levels_domain(&p, pair->first, pair->second)]++;
            for (int d = DOMAIN_L3; d < DOMAIN_COUNT && 4 * i < 3 * group.n_pairs; d++) {
                double share = (double)(i + 1) * (double)all[d] / n_all;
                if ((double)taken[d] < share - 1.5 || (double)taken[d] > share + 1.5)
                    fail_msg("machine %zu, pair %zu: %llu of domain %s, expected %g", m, i,
                             (unsigned long long)taken[d], domain_name[d], share);
            }
        }
        for (int d = DOMAIN_L3; d < DOMAIN_COUNT; d++) {
            struct pair pair;
            assert_int_equal(level_group_pair(&p, &group, (enum domain)d, &pair), all[d] > 0);
            if (all[d] > 0)
                assert_int_equal(levels_domain(&p, pair.first, pair.second), d);
        }
        level_group_release(&group);
        placement_release(&p);
    }
}

/* Ten thousand ranks are alone on their nodes but for two: the search ends, and finds them. */
static void finds_the_one_pair_of_a_large_job(void **state)
{
    (void)state;
    struct placement p = machine(10000, 1, 1, 1, 1);
    struct pair pairs[4];
    p.node[9000] = p.node[17];
    assert_pairs(pairs, levels_pairs(&p, LEVEL_INTRA_SOCKET, 4, pairs), "17-9000");
    assert_int_equal(levels_pairs(&p, LEVEL_INTER_SOCKET, 4, pairs), 0);
    assert_int_equal(levels_pairs(&p, LEVEL_INTER_NODE, 4, pairs), 4);
    placement_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_pairs_by_domain),
        cmocka_unit_test(spreads_pairs_of_a_domain),
        cmocka_unit_test(spreads_pairs_over_sockets_and_nodes),
        cmocka_unit_test(finds_groups_of_all_sockets),
        cmocka_unit_test(mixes_domains_in_every_n),
        cmocka_unit_test(finds_the_one_pair_of_a_large_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

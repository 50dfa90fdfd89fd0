/* Tests who is whose partner, by hand. */
#include "interpose/trace/communicators/partners.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define NODES 6

static void expect(const struct partners_edge *edges, size_t n_edges, const int8_t side[NODES],
                   const uint32_t expected[NODES])
{
    uint32_t partner[NODES], candidates[NODES], n = 0;
    partners_find(edges, n_edges, NODES, side, partner, candidates);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(partner[i], expected[i]);
        n += candidates[i];
    }
    assert_int_equal(n, 2 * n_edges);
}

#define NONE PARTNERS_NONE
static const int8_t two_sides[NODES] = {1, 1, 1, -1, -1, -1};

static void takes_the_only_way(void **state)
{
    (void)state;
    /* A server accepts three clients which all wait: the first came alone, the last is served last. */
    const struct partners_edge edges[] = {{0, 3}, {0, 4}, {0, 5}, {1, 4}, {1, 5}, {2, 5}};
    expect(edges, 6, two_sides, (const uint32_t[]){3, 4, 5, 0, 1, 2});
}

static void leaves_what_has_two_ways(void **state)
{
    (void)state;
    const struct partners_edge edges[] = {{0, 3}, {0, 4}, {1, 3}, {1, 4}, {2, 5}};
    expect(edges, 5, two_sides, (const uint32_t[]){NONE, NONE, 5, NONE, NONE, 2});
}

static void leaves_what_may_lack_a_partner(void **state)
{
    (void)state;
    const struct partners_edge edges[] = {{0, 3}, {1, 3}, {2, 5}};
    expect(edges, 3, two_sides, (const uint32_t[]){NONE, NONE, 5, NONE, NONE, 2});
}

static void pairs_where_there_are_no_sides(void **state)
{
    (void)state;
    const int8_t none[NODES] = {0};
    const struct partners_edge chain[] = {{0, 1}, {1, 2}, {2, 3}}, odd[] = {{0, 1}, {1, 2}};
    expect(chain, 3, none, (const uint32_t[]){1, 0, 3, 2, NONE, NONE});
    expect(odd, 2, none, (const uint32_t[]){NONE, NONE, NONE, NONE, NONE, NONE});
    expect(NULL, 0, none, (const uint32_t[]){NONE, NONE, NONE, NONE, NONE, NONE});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_only_way),
        cmocka_unit_test(leaves_what_has_two_ways),
        cmocka_unit_test(leaves_what_may_lack_a_partner),
        cmocka_unit_test(pairs_where_there_are_no_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

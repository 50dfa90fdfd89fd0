/* Tests what is read from P.csv and L.csv, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/pattern/pattern.h"
#include "tests/unit/scratch.h"

#include <cmocka.h> /* last: it defines fail as a macro */

static void placement_in_any_order(void **state)
{
    (void)state;
    struct placement placement;
    struct error error = {.text = ""};
    if (placement_read_csv(scratch_text("socket,rank,node\n1,2,7\n0,0,7\n1,1,8\n1,3,7\n"), &placement, &error) != 0)
        fail_msg("%s", error.text);
    assert_int_equal(placement.n_ranks, 4);
    assert_int_equal(placement.node[1], 8);
    assert_int_equal(placement.socket[2], 1);
    assert_int_equal(placement_level(&placement, 0, 0), LEVEL_SELF);
    assert_int_equal(placement_level(&placement, 2, 3), LEVEL_INTRA_SOCKET);
    assert_int_equal(placement_level(&placement, 0, 2), LEVEL_INTER_SOCKET);
    assert_int_equal(placement_level(&placement, 1, 2), LEVEL_INTER_NODE);
    placement_release(&placement);
}

static void caches_of_a_placement(void **state)
{
    (void)state;
    struct placement placement;
    struct error error = {.text = ""};
    if (placement_read_csv(scratch_text("rank,node,socket,l3,numa\n0,0,0,3,1\n1,0,0,-,0\n2,0,0,,-\n"), &placement,
                           &error) != 0)
        fail_msg("%s", error.text);
    assert_true(placement.l3[0] == 3 && placement.numa[0] == 1);
    assert_true(placement.l3[1] == PLACEMENT_UNKNOWN && placement.numa[1] == 0);
    assert_true(placement.l3[2] == PLACEMENT_UNKNOWN && placement.numa[2] == PLACEMENT_UNKNOWN);
    placement_release(&placement);
    if (placement_read_csv(scratch_text("rank,node,socket\n0,0,0\n"), &placement, &error) != 0)
        fail_msg("%s", error.text);
    assert_true(placement.l3[0] == PLACEMENT_UNKNOWN && placement.numa[0] == PLACEMENT_UNKNOWN);
    placement_release(&placement);
    static const char *const wrong[] = {"-1", "x", "1.5", "4294967295", "99999999999999999999", "0x1", "+1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "rank,node,socket,l3\n0,0,0,%s\n", wrong[i]);
        struct placement untouched = {.n_ranks = 77};
        if (placement_read_csv(scratch_text(text), &untouched, &error) == 0 || untouched.n_ranks != 77 ||
            strstr(error.text, ":2: l3 '") == NULL)
            fail_msg("l3 %s gave '%s'", wrong[i], error.text);
    }
}

static void pattern_with_other_columns(void **state)
{
    (void)state;
    struct pattern pattern;
    struct error error = {.text = ""};
    if (pattern_read_csv(scratch_text("recv_s,dst,src,bytes\n0.5,1,0,10\n-1e-6,0,1,0\nx,1,1,5\n"), 2, &pattern, &error))
        fail_msg("%s", error.text);
    assert_int_equal(pattern.n_messages, 3);
    assert_true(pattern.src[1] == 1 && pattern.dst[1] == 0 && pattern_bytes(&pattern, 0) == 10 &&
                pattern_bytes(&pattern, 1) == 0);
    pattern_release(&pattern);

    char *text = malloc(8u << 10);
    assert_non_null(text);
    size_t length = (size_t)sprintf(text, "src,dst,bytes\n");
    for (unsigned i = 0; i < 200; i++)
        length += (size_t)sprintf(text + length, "0,1,%u\n", i);
    if (pattern_read_csv(scratch_write(text, length), 2, &pattern, &error) != 0)
        fail_msg("%s", error.text);
    free(text);
    assert_int_equal(pattern.n_messages, 200);
    for (size_t i = 0; i < 200; i++)
        assert_true(pattern_bytes(&pattern, i) == i);
    pattern_release(&pattern);
}

/* Sizes take 32 bits each until one needs more. */
static void large_messages(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {7, UINT32_MAX, UINT64_C(1) << 32, 9, UINT64_MAX};
    struct pattern pattern = {0};
    for (size_t n = 0; n < 5; n++) {
        for (size_t repeats = 0; repeats < 100; repeats++)
            pattern_append(&pattern, 0, 1, sizes[n]);
        assert_true((pattern.wide_bytes != NULL) == (n >= 2) && (pattern.narrow_bytes == NULL) == (n >= 2));
    }
    for (size_t i = 0; i < pattern.n_messages; i++)
        assert_true(pattern_bytes(&pattern, i) == sizes[i / 100]);
    pattern_set_bytes(&pattern, 499, 3);
    assert_true(pattern_bytes(&pattern, 499) == 3);
    pattern_release(&pattern);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        bool is_placement;
        const char *text, *reason;
    } cases[] = {
        {true, "rank,node,socket\n", "no ranks"},
        {true, "rank,node\n0,0\n", "no column 'socket'"},
        {true, "rank,node,socket\n0,0,0\n0,0,1\n", ":3: rank 0 appears twice"},
        {true, "rank,node,socket\n0,0,0\n2,0,1\n", ":3: rank 2, but there are 2 rows: expected ranks 0 to 1"},
        {true, "rank,node,socket\n0,4294967296,0\n", ":2: node and socket are numbers below"},
        {true, "rank,node,socket\n0,a,0\n", ":2: column 'node': 'a' is not a whole number"},
        {false, "src,dst,bytes\n0,4,1\n", ":2: column 'dst': rank 4 is not in the placement (ranks 0 to 3)"},
        {false, "src,dst,bytes\n18446744073709551615,0,1\n", "column 'src': rank 18446744073709551615 is not in"},
        {false, "src,dst,bytes\n-2,0,1\n", ":2: column 'src': '-2' is not a whole number"},
        {false, "src,dst,bytes\n0,1,1e6\n", ":2: column 'bytes': '1e6' is not a whole number"},
        {false, "src,dst\n0,1\n", "no column 'bytes'; expected a header line with src,dst,bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error = {.text = ""};
        struct placement placement = {.n_ranks = 77};
        struct pattern pattern = {.n_messages = 77};
        const char *path = scratch_text(cases[i].text);
        int result = cases[i].is_placement ? placement_read_csv(path, &placement, &error)
                                           : pattern_read_csv(path, 4, &pattern, &error);
        assert_int_equal(result, -1);
        assert_true(placement.n_ranks == 77 && pattern.n_messages == 77);
        if (strstr(error.text, cases[i].reason) == NULL)
            fail_msg("case %zu: '%s' does not hold '%s'", i, error.text, cases[i].reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(placement_in_any_order, scratch_remove),
        cmocka_unit_test_teardown(caches_of_a_placement, scratch_remove),
        cmocka_unit_test_teardown(pattern_with_other_columns, scratch_remove),
        cmocka_unit_test(large_messages),
        cmocka_unit_test_teardown(refusals, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

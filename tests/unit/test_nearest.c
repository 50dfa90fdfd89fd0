/* Tests share/base/nearest.h: what counts as a misspelling of a word, and what does not. */
#include "share/base/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* last: it defines fail as a macro */
#include <string.h>

/* Returns what would be suggested for wanted of "postal|staircase|flow|text|csv|json|max-rate|round-robin-nodes". */
static const char *suggested(const char *wanted)
{
    static struct nearest nearest;
    nearest = nearest_to(wanted);
    nearest_add_choices(&nearest, "postal|staircase|staircase-max|flow|text|csv|json|max-rate|round-robin-nodes");
    return nearest.best;
}

static void test_near(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"starcase", "staircase"},
                                           {"stiarcase", "staircase"},
                                           {"staircas", "staircase"},
                                           {"sstaircasse", "staircase"},
                                           {"STAIRCASE", "staircase"},
                                           {"stair", "staircase"},
                                           {"jsn", "json"},
                                           {"jsno", "json"},
                                           {"cvs", "csv"},
                                           {"max_rate", "max-rate"},
                                           {"maxrate", "max-rate"},
                                           {"round-robin-node", "round-robin-nodes"},
                                           {"roundrobinnodes", "round-robin-nodes"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_string_equal(suggested(pairs[i][0]), pairs[i][1]);
}

static void test_far(void **state)
{
    (void)state;
    static const char *const words[] = {"",
                                        "x",
                                        "c",
                                        "js",
                                        "xml",
                                        "tree",
                                        "flour-power",
                                        "none",
                                        "a word that is longer than any that can be misspelt, by far"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i], "js") != 0) /* begins json */
            assert_string_equal(suggested(words[i]), "");
}

static void test_hint(void **state)
{
    (void)state;
    struct nearest nearest = nearest_to("summi");
    assert_string_equal(nearest_hint(&nearest), "");
    nearest_add(&nearest, "");
    assert_int_equal(nearest_add_named(&nearest, "summit", "/share/summit.tbl", NULL), 0);
    nearest_add(&nearest, "summix"); /* is as near, and later */
    assert_string_equal(nearest_hint(&nearest), "; did you mean summit?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_near), cmocka_unit_test(test_far),
                                       cmocka_unit_test(test_hint)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests how a law of the whole run and its terms are told from a name, LAW[+TERM]... */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "predictor/run/laws/run_choice.h"

#include <cmocka.h> /* last: it defines fail as a macro */

/* Every law with every set of terms, in the order of the tables. */
static void all_names(void **state)
{
    (void)state;
    for (int law = 0; law < LAW_COUNT; law++)
        for (unsigned terms = 0; terms < 1U << RUN_TERM_COUNT; terms++) {
            struct error error = {0};
            struct run_law_choice choice, added;
            char name[128];
            snprintf(name, sizeof name, "%s", run_law_table[law].name);
            assert_int_equal(run_law_choose(name, &added, &error), 0);
            for (unsigned i = 0; i < RUN_TERM_COUNT; i++)
                if ((terms & 1U << i) != 0) {
                    strcat(strcat(name, "+"), run_term_table[i].name);
                    run_law_add_term(&added, (enum run_term)(1U << i));
                    run_law_add_term(&added, (enum run_term)(1U << i));
                }
            assert_int_equal(run_law_choose(name, &choice, &error), 0);
            assert_int_equal(choice.law, law);
            assert_int_equal(choice.terms, terms);
            assert_string_equal(choice.name, name);
            assert_int_equal(added.terms, terms);
            assert_string_equal(added.name, name);
            assert_true(run_law_table[law].summary[0] != '\0');
        }
}

static void assert_refused(const char *name, const char *reason)
{
    struct error error = {0};
    struct run_law_choice choice;
    assert_int_equal(run_law_choose(name, &choice, &error), -1);
    assert_string_equal(error.text, reason);
}

static void mistakes(void **state)
{
    (void)state;
    assert_refused("staircas", "no law 'staircas'; did you mean staircase?");
    assert_refused("flow+memroy", "no term 'memroy'; did you mean memory?");
    assert_refused("flow+memory+memory", "the term 'memory' comes twice in 'flow+memory+memory'");
    static const char *const names[] = {"", "+memory", "flow+", "flow++memory", "quite another", "flow+sand"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct error error = {0};
        struct run_law_choice choice;
        assert_int_equal(run_law_choose(names[i], &choice, &error), -1);
        assert_non_null(strstr(error.text, "expected"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_names), cmocka_unit_test(mistakes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

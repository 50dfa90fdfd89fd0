/* Tests lists of hosts: every form by hand, and what is wrong with others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "share/base/hostlist.h"

#include <cmocka.h> /* last: it defines fail as a macro */

/* The names of a list, a blank behind each. */
static int take_name(void *context, const char *name, struct error *error)
{
    char *all = context;
    if (strlen(all) + strlen(name) + 2 > 512)
        return error_set(error, "too many");
    strcat(all, name);
    strcat(all, " ");
    return 0;
}

static const char *expanded(const char *list)
{
    static char all[512];
    struct error error = {.text = ""};
    all[0] = '\0';
    if (hostlist_each(list, take_name, all, &error) != 0)
        snprintf(all, sizeof all, "%.500s", error.text);
    return all;
}

static void forms(void **state)
{
    (void)state;
    assert_string_equal(expanded("login"), "login ");
    assert_string_equal(expanded("a,b.site.org"), "a b.site.org ");
    assert_string_equal(expanded("n[1-3]"), "n1 n2 n3 ");
    assert_string_equal(expanded("n[1-3,07-09],x"), "n1 n2 n3 n07 n08 n09 x ");
    assert_string_equal(expanded("n[9-11]-ib"), "n9-ib n10-ib n11-ib ");
    assert_string_equal(expanded("n[098-101]"), "n098 n099 n100 n101 ");
    assert_string_equal(expanded("r[1-2]n[01-02]"), "r1n01 r1n02 r2n01 r2n02 ");
    assert_string_equal(expanded("[5]"), "5 ");
    assert_string_equal(expanded("n[7,7]"), "n7 n7 ");
}

static void wrong_forms(void **state)
{
    (void)state;
    assert_string_equal(expanded(""), "an empty name in ''");
    assert_string_equal(expanded("a,"), "an empty name in 'a,'");
    assert_string_equal(expanded("n[1-3"), "'[' without ']'");
    assert_string_equal(expanded("n1]"), "']' without '['");
    assert_string_equal(expanded("n[1-3]]"), "']' without '['");
    assert_string_equal(expanded("n[3-1]"), "'3-1', expected a range from the smaller number to the larger one");
    assert_string_equal(expanded("n[]"), "'[]', expected numbers and ranges as in [1-3,07-09]");
    assert_string_equal(expanded("n[1,]"), "'[1,]', expected numbers and ranges as in [1-3,07-09]");
    assert_string_equal(expanded("n[1--3]"), "'[1--3]', expected numbers and ranges as in [1-3,07-09]");
    assert_string_equal(expanded("n[1 2]"), "'[1 2]', expected numbers and ranges as in [1-3,07-09]");
    assert_string_equal(expanded("n[1[2]]"), "'[1[2]', expected numbers and ranges as in [1-3,07-09]");
    assert_string_equal(expanded("n[0-9999999999999999999]"),
                        "'[0-9999999999999999999]', expected numbers and ranges as in [1-3,07-09]");
    assert_string_equal(expanded("n[1-200]"), "too many"); /* of take, which ends it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms), cmocka_unit_test(wrong_forms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

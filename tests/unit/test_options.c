/* Tests share/base/options.h: every kind of option reaches its place; a wrong one ends with the exit code and changes
 * nothing. */
#include "share/base/options.h"

#include "share/base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* last: it defines fail as a macro */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct result {
    bool flag, given;
    const char *text, *taken;
    uint64_t whole;
    uint32_t u32;
    double real;
    int choice, argc, code;
    char **words;
};

static int take_x(void *context, const char *text)
{
    ((struct result *)context)->taken = text;
    return strcmp(text, "bad") == 0 ? EXIT_WRONG_USAGE : 0;
}

/* Splits line at blanks and reads it; the words are those of a static array. */
static struct result parse(const char *line, bool is_launcher)
{
    static char copy[256], *argv[32];
    struct result r = {.whole = 7};
    const struct option_row rows[] = {
        {.name = "flag", .flag = &r.flag},
        {'t', "text", "FILE", "", .text = &r.text, .given = &r.given},
        {.help = "a heading"},
        {'c', "choice", "red|green|blue", "", .choice = &r.choice},
        {.name = "blue", .choice = &r.choice, .value = 2},
        {0, "whole", "N", "", .whole = &r.whole, .least = 1, .most = 9},
        {0, "any", "N", "", .whole = &r.whole},
        {0, "u32", "N", "", .u32 = &r.u32},
        {0, "real", "S", "", .real = &r.real, .most = 10},
        {'x', "take", "X", "", .take = take_x},
    };
    const struct option_table table = {.command = "test",
                                       .usage = "usage\n",
                                       .rows = rows,
                                       .n_rows = sizeof rows / sizeof rows[0],
                                       .context = &r,
                                       .is_launcher = is_launcher};
    snprintf(copy, sizeof copy, "test %s", line);
    char *rest = copy;
    r.argc = 0;
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        argv[r.argc++] = word;
    argv[r.argc] = NULL;
    r.words = argv;
    r.code = options_read(&table, &r.argc, &r.words);
    return r;
}

static void test_values(void **state)
{
    (void)state;
    struct result r = parse("one -tF --flag --choice=green --whole 9 --u32 4294967295 --real 1e1 -x y two", false);
    assert_int_equal(r.code, OPTIONS_READ);
    assert_true(r.flag && r.given && r.choice == 1 && r.whole == 9 && r.u32 == UINT32_MAX && r.real == 10);
    assert_string_equal(r.text, "F");
    assert_string_equal(r.taken, "y");
    assert_int_equal(r.argc, 2);
    assert_string_equal(r.words[0], "one");
    assert_string_equal(r.words[1], "two");
    r = parse("--any 18446744073709551615 --blue", false);
    assert_true(r.code == OPTIONS_READ && r.whole == UINT64_MAX && r.choice == 2 && !r.flag && !r.given);
    r = parse("--flag job --text", true);
    assert_true(r.code == OPTIONS_READ && r.flag && r.argc == 2);
    assert_string_equal(r.words[1], "--text");
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {"--colour",
                                        "-z",
                                        "--text",
                                        "--whole 0",
                                        "--whole 10",
                                        "--whole x",
                                        "--whole -1",
                                        "--whole ",
                                        "--u32 4294967296",
                                        "--real 11",
                                        "--real -1",
                                        "--real nan",
                                        "--take bad",
                                        "--choice pink",
                                        "--choice re",
                                        "--choice ",
                                        "--choice red|green",
                                        "--flag=1"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct result r = parse(lines[i], false);
        assert_int_equal(r.code, EXIT_WRONG_USAGE);
        assert_true(r.whole == 7 && r.u32 == 0 && r.real == 0 && r.choice == 0);
    }
    assert_int_equal(parse("--help --colour", false).code, EXIT_DONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

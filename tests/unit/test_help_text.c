/* Tests share/base/terminal.h: where lines break, and what stays together. */
#include "share/base/terminal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* last: it defines fail as a macro */
#include <stdlib.h>
#include <string.h>

static void expect(const char *text, unsigned width, const char *expected)
{
    char *printed = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&printed, &length);
    help_text_print(stream, text, width);
    fclose(stream);
    assert_string_equal(printed, expected);
    free(printed);
}

static void test_paragraphs(void **state)
{
    (void)state;
    expect("one two\nthree four\n\nfive\n", 14, "one two three\nfour\n\nfive\n");
    expect("one two\nthree four", 80, "one two three four\n");
    expect("µµµµ µµµµ µ\n", 9, "µµµµ µµµµ\nµ\n");
    expect("word-that-is-too-long ok\n", 10, "word-that-is-too-long\nok\n");
    expect("", 40, "");
    expect("\n\n", 40, "\n\n");
}

static void test_lines(void **state)
{
    (void)state;
    expect("list:\n  a    one two three\n  bc   four\n", 14, "list:\n  a    one two\n       three\n  bc   four\n");
    expect("  name  is kept as it is\n", 80, "  name  is kept as it is\n");
    expect("  a line without columns that is long\n", 20, "  a line without\n      columns that\n      is long\n");
}

static void test_usage(void **state)
{
    (void)state;
    expect("usage: mpistair run [--name N] [-o FILE] JOB\n       mpistair run --list\n\nRuns.\n", 32,
           "usage: mpistair run [--name N]\n           [-o FILE] JOB\n       mpistair run --list\n\nRuns.\n");
    expect("usage: a [--section NAME [NAME]] b\n", 20, "usage: a\n           [--section NAME [NAME]]\n           b\n");
}

static void test_fill(void **state)
{
    (void)state;
    char *printed = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&printed, &length);
    help_text_fill(stream, "one two\nthree", 3, 6, 14);
    help_text_fill(stream, "one", 8, 6, 14);
    help_text_fill(stream, "", 8, 6, 14);
    fclose(stream);
    assert_string_equal(printed, "   one two\n      three\none\n\n");
    free(printed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_paragraphs), cmocka_unit_test(test_lines),
                                       cmocka_unit_test(test_usage), cmocka_unit_test(test_fill)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

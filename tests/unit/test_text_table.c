/* Tests share/base/text_table.h: what a table looks like in a file, in parts, without rows, on a narrow terminal. */
#include "share/base/text_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* last: it defines fail as a macro */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct text_table *table_new(void)
{
    struct text_table *table = text_table_new();
    text_table_column(table, "model", TEXT_LEFT);
    text_table_column(table, "error", TEXT_RIGHT);
    text_table_column(table, "about", TEXT_CUT);
    return table;
}

static void row(struct text_table *table, const char *name, double error, const char *about)
{
    text_table_text(table, name);
    text_table_cell(table, "%.1f", error);
    text_table_text(table, about);
}

/* Ends the table and compares what it printed. */
static void expect(struct text_table *table, FILE *stream, char **text, const char *expected)
{
    text_table_end(table, stream);
    fclose(stream);
    assert_string_equal(*text, expected);
    free(*text);
}

static void test_file(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    struct text_table *table = table_new();
    row(table, "µ", 2.5, "one");
    row(table, "postal", 12, "a text that is longer than a line of a terminal has columns, and not cut");
    expect(table, stream, &text,
           "model   error  about\n"
           "µ         2.5  one\n"
           "postal   12.0  a text that is longer than a line of a terminal has columns, and not cut\n");
}

static void test_parts(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    struct text_table *table = table_new();
    text_table_widen(table, 0, "flow");
    text_table_widen(table, 0, "postal");
    text_table_widen(table, 0, "flow");
    row(table, "flow", 1, "x");
    text_table_print(table, stream);
    text_table_print(table, stream);
    row(table, "postal", 2, "y");
    expect(table, stream, &text, "model   error  about\nflow      1.0  x\npostal    2.0  y\n");
}

static void test_no_rows(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    struct text_table *table = table_new();
    text_table_widen(table, 0, "postal");
    expect(table, stream, &text, "model   error  about\n");
}

static void test_wide_and_empty(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    struct text_table *table = text_table_new();
    for (int i = 0; i < 3; i++)
        text_table_column(table, i == 0 ? "" : "x", TEXT_RIGHT);
    row(table, "", 1, "\xe4\xb8\xad\xe6\x96\x87");
    row(table, "", 10, "a\nb");
    row(table, "", 10, "");
    expect(table, stream, &text, "      x     x\n    1.0  \xe4\xb8\xad\xe6\x96\x87\n   10.0   a b\n   10.0  \n");
}

static void test_no_titles(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    struct text_table *table = text_table_new();
    text_table_column(table, NULL, TEXT_LEFT);
    text_table_column(table, NULL, TEXT_RIGHT);
    text_table_text(table, "ranks");
    text_table_cell(table, "%d", 8);
    expect(table, stream, &text, "ranks  8\n");
}

/* Prints a table to a terminal of 30 columns and returns what arrived, in a static array. */
static const char *on_terminal(void)
{
    static char seen[512];
    struct winsize size = {.ws_row = 24, .ws_col = 30};
    struct termios settings;
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    FILE *stream = fopen(ptsname(master), "w");
    assert_non_null(stream);
    assert_int_equal(tcgetattr(fileno(stream), &settings), 0);
    cfmakeraw(&settings); /* line ends stay as they are */
    assert_int_equal(tcsetattr(fileno(stream), TCSANOW, &settings), 0);
    assert_int_equal(ioctl(fileno(stream), TIOCSWINSZ, &size), 0);
    struct text_table *table = table_new();
    row(table, "postal", 12345678, "cut at the edge");
    text_table_end(table, stream);
    fclose(stream);
    size_t n = 0;
    for (ssize_t more; n < sizeof seen - 1 && (more = read(master, seen + n, sizeof seen - 1 - n)) > 0;)
        n += (size_t)more; /* a terminal gives line by line */
    seen[n] = '\0';
    close(master);
    return seen;
}

static void test_terminal(void **state)
{
    (void)state;
    unsetenv("COLUMNS");
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
    assert_string_equal(on_terminal(), "model        error  about\npostal  12345678.0  cut at the\n");
    setenv("COLUMNS", "26", 1);
    assert_string_equal(on_terminal(), "model        error  about\npostal  12345678.0  cut at\n");
    setenv("COLUMNS", "26 of them", 1);
    unsetenv("NO_COLOR");
    assert_string_equal(on_terminal(), "\033[1mmodel \033[0m  \033[1m     error\033[0m  \033[1mabout\033[0m\n"
                                       "postal  12345678.0  cut at the\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_file),      cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_no_rows),   cmocka_unit_test(test_wide_and_empty),
                                       cmocka_unit_test(test_no_titles), cmocka_unit_test(test_terminal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests interpose/database/cursor.h, text made fit to print and rows with their errors, and report/render/document.h,
 * quantities. */
#include "report/render/document.h"
#include "interpose/database/cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* last: it defines fail as a macro */
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_clean_text(void **state)
{
    (void)state;
    static const struct {
        const char *raw, *clean;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80", "h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"a\x1b[31m\n\tb\r\x7f", "a?[31m  b ?"},
        {"\xc2\x9b[31m", "?[31m"},    /* the C1 form of ESC [ */
        {"\xff\xc3", "??"},           /* no start byte; cut off */
        {"\xc0\xaf", "??"},           /* overlong / */
        {"\xed\xa0\x80", "???"},      /* a surrogate */
        {"\xf4\x90\x80\x80", "????"}, /* above U+10FFFF */
        {"\xe2\x82z", "??z"},         /* broken in the middle */
        {"\xf0\x8f\xbf\xbf", "????"}, /* overlong, four bytes */
        {"\xe0\x9f\xbf|\xe0\xa0\x80", "???|\xe0\xa0\x80"},
    };
    struct pool pool = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(pool_clean(&pool, cases[i].raw, strlen(cases[i].raw)), cases[i].clean);
    assert_string_equal(pool_clean(&pool, "a\0b", 3), "a?b");
    pool_release(&pool);
    assert_null(pool.first);
}

static void test_rows(void **state)
{
    (void)state;
    sqlite3 *database;
    struct cursor rows;
    struct error error = {""};
    struct pool pool = {0};
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    cursor_open(&rows, database, "x.db", "SELECT 7, NULL, 'a' || char(10), 2.5", &error);
    assert_true(cursor_next(&rows));
    assert_int_equal(cursor_integer(&rows, 0), 7);
    assert_int_equal(cursor_integer(&rows, 1), 0);
    assert_true(isnan(cursor_real(&rows, 1)));
    assert_string_equal(cursor_text(&rows, 1, &pool), "");
    assert_string_equal(cursor_text(&rows, 2, &pool), "a ");
    assert_true(cursor_real(&rows, 3) == 2.5);
    assert_false(cursor_next(&rows));
    assert_int_equal(cursor_close(&rows), 0);

    cursor_open(&rows, database, "x.db", "SELECT nowhere", &error);
    assert_false(cursor_next(&rows));
    assert_int_equal(cursor_close(&rows), -1);
    assert_non_null(strstr(error.text, "x.db"));
    assert_non_null(strstr(error.text, "nowhere"));

    cursor_open(&rows, database, "x.db", "SELECT sum(n) FROM (SELECT 9223372036854775807 AS n UNION ALL SELECT 1)",
                &error);
    assert_false(cursor_next(&rows)); /* the error comes at the step: integer overflow */
    assert_int_equal(cursor_close(&rows), -1);
    assert_non_null(strstr(error.text, "overflow"));
    pool_release(&pool);
    sqlite3_close(database);
}

static void test_quantities(void **state)
{
    (void)state;
    static const char *const expected[] = {"-",       "0.00 us", "1.50 us", "999 us", "1.00 ms", "12.3 ms",
                                           "1.00 s",  "3600 s",  "0 B",     "999 B",  "1.00 kB", "4.10 kB",
                                           "12.3 MB", "1.00 PB", "-",       "12.3 %", "+12.3 %", "-4.0 %"};
    struct document document = {0};
    document_table(&document, "value>");
    const double seconds[] = {NAN, 0, 1.5e-6, 999e-6, 0.9999e-3, 12.34e-3, 0.99999, 3600};
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++)
        document_cells(&document, "s", seconds[i]);
    const double bytes[] = {0, 999, 999.7, 4096, 12345678, 1e15};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++)
        document_cells(&document, "b", bytes[i]);
    document_cells(&document, "cpcc", NAN, 0.1234, 0.1234, -0.04);
    assert_int_equal(document.blocks[0].n_cells, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < document.blocks[0].n_cells; i++)
        assert_string_equal(document.blocks[0].cells[i], expected[i]);
    document_release(&document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_clean_text), cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_quantities)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

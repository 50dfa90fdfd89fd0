/* Tests interpose/database/pages.h: SQLite finds the rows, and nothing wrong with the file. */
#include "interpose/database/pages.h"

#include "interpose/database/database.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* last: it defines fail as a macro */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/scratch.h"

enum { PLAIN, NAMED, KEYED, WIDE, N_TABLES, COLUMNS = 3, WIDE_COLUMNS = 17, PAGE = 4096, LOCKED = 262145 };

static const char *word_of(int column, int64_t value)
{
    static char text[80];
    memset(text, 'a' + (int)(value & 7), sizeof text);
    text[value & 0x3f] = '\0';
    return column == 1 ? text : NULL;
}

static const struct pages_table tables[N_TABLES] = {{.name = "plain", .columns = COLUMNS},
                                                    {.name = "named", .columns = COLUMNS, .text = word_of},
                                                    {.name = "keyed", .columns = COLUMNS, .is_keyed = true},
                                                    {.name = "wide", .columns = WIDE_COLUMNS}};

/* Returns numbers of all lengths, both signs, and NULL. */
static int64_t number(uint64_t i)
{
    int64_t power = (int64_t)(UINT64_C(1) << (i * 7 % 63));
    const int64_t near[] = {power, power - 1, -power, -power - 1, ~power, 0, 1, PAGES_NULL, INT64_MAX, INT64_MIN + 1};
    return near[i % (sizeof near / sizeof near[0])];
}

static void fill(size_t table, uint64_t i, int64_t *values)
{
    for (size_t k = 0; k < tables[table].columns; k++)
        values[k] = number(i * 31 + k * 5 + table);
    if (table == NAMED || table == WIDE)
        values[0] = PAGES_NULL;
    if (table == NAMED)
        values[1] = (int64_t)i;
    if (table == KEYED) {
        values[0] = (int64_t)(i / 3);
        values[1] = (int64_t)(i % 3) - 1;
    }
}

static sqlite3 *make(const char *path)
{
    sqlite3 *database = NULL;
    close(open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600));
    assert_int_equal(database_open_unfinished(path, &database), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(database,
                     "CREATE TABLE plain(a, b, c); CREATE TABLE named(id INTEGER PRIMARY KEY, word TEXT, n INTEGER);"
                     "CREATE TABLE keyed(a INTEGER, b INTEGER, c INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID;"
                     "CREATE TABLE wide(id INTEGER PRIMARY KEY, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q);"
                     "CREATE TABLE dropped(a); DROP TABLE dropped; COMMIT",
                     NULL, NULL, NULL),
        SQLITE_OK);
    return database;
}

static void write_rows(const char *path, uint64_t n)
{
    sqlite3 *database = make(path);
    struct pages *pages = pages_open(database, path, tables, N_TABLES);
    assert_non_null(pages);
    sqlite3_close(database);
    for (uint64_t i = 0; i < n; i++)
        for (size_t table = 0; table < N_TABLES; table++) {
            int64_t values[WIDE_COLUMNS];
            fill(table, i, values);
            pages_add(pages, table, values, tables[table].columns);
        }
    assert_int_equal(pages_close(pages), 0);
}

static void check_rows(sqlite3 *database, size_t table, uint64_t n)
{
    char sql[100];
    sqlite3_stmt *statement = NULL;
    snprintf(sql, sizeof sql, "SELECT * FROM %s", tables[table].name);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    for (uint64_t i = 0; i < n; i++) {
        int64_t values[WIDE_COLUMNS];
        fill(table, i, values);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        for (int k = 0; k < (int)tables[table].columns; k++) {
            const char *text = tables[table].text != NULL ? tables[table].text(k, values[k]) : NULL;
            int64_t expected = k == 0 && (table == NAMED || table == WIDE) ? (int64_t)i + 1 : values[k];
            if (text != NULL)
                assert_string_equal((const char *)sqlite3_column_text(statement, k), text);
            else if (expected == PAGES_NULL)
                assert_int_equal(sqlite3_column_type(statement, k), SQLITE_NULL);
            else
                assert_true(sqlite3_column_type(statement, k) == SQLITE_INTEGER &&
                            sqlite3_column_int64(statement, k) == expected);
        }
    }
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
}

static int check_text(void *context, int n, char **values, char **names)
{
    (void)context, (void)n, (void)names;
    assert_string_equal(values[0], "ok");
    return 0;
}

static void check(const char *path, uint64_t n)
{
    sqlite3 *database = NULL;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, "PRAGMA integrity_check", check_text, NULL, NULL), SQLITE_OK);
    for (size_t table = 0; table < N_TABLES; table++)
        check_rows(database, table, n);
    /* The file stays one that SQLite changes. */
    assert_int_equal(
        sqlite3_exec(database,
                     "INSERT INTO plain VALUES (1, 2, 3); INSERT INTO keyed VALUES (-5, 0, 0); DELETE FROM wide "
                     "WHERE id % 3 = 0; CREATE INDEX i ON plain(b); PRAGMA integrity_check",
                     check_text, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static void test_numbers_of_rows(void **state)
{
    (void)state;
    const char *path = scratch_gone();
    for (uint64_t n = 0; n < 1500; n = n < 400 ? n + 1 : n + 89) {
        write_rows(path, n);
        check(path, n);
    }
    write_rows(path, 300000); /* three levels */
    check(path, 300000);
    unlink(path);
}

/* The page of the bytes that processes lock is never used. */
static void test_lock_page(void **state)
{
    (void)state;
    const char *path = scratch_gone();
    const uint32_t pages_before = LOCKED - 10;
    const uint64_t n = 5000;
    sqlite3 *database = make(path);
    sqlite3_close(database);
    int file = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(ftruncate(file, (off_t)pages_before * PAGE), 0);
    const uint8_t count[] = {(uint8_t)(pages_before >> 24), (uint8_t)(pages_before >> 16), (uint8_t)(pages_before >> 8),
                             (uint8_t)pages_before};
    assert_int_equal(pwrite(file, count, sizeof count, 28), sizeof count);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    struct pages *pages = pages_open(database, path, tables, N_TABLES);
    sqlite3_close(database);
    for (uint64_t i = 0; i < n; i++) {
        int64_t values[WIDE_COLUMNS];
        fill(WIDE, i, values);
        pages_add(pages, WIDE, values, WIDE_COLUMNS);
    }
    assert_int_equal(pages_close(pages), 0);
    uint8_t page[PAGE], nothing[PAGE] = {0};
    assert_int_equal(pread(file, page, PAGE, (off_t)(LOCKED - 1) * PAGE), PAGE);
    assert_memory_equal(page, nothing, PAGE);
    assert_int_equal(pread(file, page, PAGE, (off_t)LOCKED * PAGE), PAGE);
    assert_memory_not_equal(page, nothing, PAGE);
    close(file);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    check_rows(database, WIDE, n);
    sqlite3_close(database);
    unlink(path);
}

static void test_full_disk(void **state)
{
    (void)state;
    const char *path = scratch_gone();
    sqlite3 *database = make(path);
    struct pages *pages = pages_open(database, path, tables, N_TABLES);
    sqlite3_close(database);
    struct rlimit before, little = {1 << 20, RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &before);
    little.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &little);
    for (uint64_t i = 0; i < 100000; i++) {
        int64_t values[WIDE_COLUMNS];
        fill(WIDE, i, values);
        pages_add(pages, WIDE, values, WIDE_COLUMNS);
    }
    assert_int_equal(pages_failure(pages), EFBIG);
    assert_int_equal(pages_close(pages), EFBIG);
    setrlimit(RLIMIT_FSIZE, &before);
    unlink(path);
}

static void test_other_files(void **state)
{
    (void)state;
    sqlite3 *database = NULL;
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, "PRAGMA page_size = 8192; CREATE TABLE plain(a, b, c)", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_null(pages_open(database, "nowhere.db", tables, 1));
    assert_int_equal(errno, 0);
    sqlite3_close(database);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_of_rows),
        cmocka_unit_test(test_lock_page),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_other_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

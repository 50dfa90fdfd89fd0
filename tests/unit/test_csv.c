/* Tests csv.h: what is read, what is refused and with which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/csv.h"
#include "share/base/number.h"
#include "tests/unit/scratch.h"

#include <cmocka.h> /* last: it defines fail as a macro */

struct seen {
    char text[256];
    size_t rows;
};

static int note_row(void *context, size_t line, const union csv_value *values, struct error *error)
{
    struct seen *seen = context;
    if (values[0].u64 == 13)
        return error_set(error, "thirteen");
    size_t length = strlen(seen->text);
    snprintf(seen->text + length, sizeof seen->text - length, "%zu:%llu/%g/%s;", line,
             (unsigned long long)values[0].u64, values[1].real, values[2].text != NULL ? values[2].text : "-");
    seen->rows++;
    return 0;
}

static int read_text(const char *path, struct seen *seen, struct error *error)
{
    struct csv_column columns[] = {{.name = "n", .kind = CSV_U64},
                                   {.name = "x", .kind = CSV_REAL},
                                   {.name = "t", .kind = CSV_TEXT, .optional = true}};
    *seen = (struct seen){.text = ""};
    return csv_read(path, columns, 3, CSV_WHOLE, note_row, NULL, seen, error);
}

static void reads_what_is_well_formed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *seen;
    } cases[] = {
        {"n,x\n1,2\n", "2:1/2/-;"},
        {"x,n\r\n2.5e3,1\r\n", "2:1/2500/-;"},
        {"n,x\n1,-2", "2:1/-2/-;"},
        {"n,other,x,t\n1,?,2,\"a,b\"\n3,,4,\"say \"\"x\"\"\"\n", "2:1/2/a,b;3:3/4/say \"x\";"},
        {"n,x\n1,2\n\n\r\n  \n", "2:1/2/-;"},
        {"\xef\xbb\xbfn,x\n1,2\n", "2:1/2/-;"},
        {"n , x\n 1 , 2 \n", "2:1/2/-;"},
        {"n,x\n18446744073709551615,1\n", "2:18446744073709551615/1/-;"},
        {"n,x\n", ""},
        {"# who\nn,x\n#\n1,2\n#,\"\r\n3,4\n# end", "4:1/2/-;6:3/4/-;"},
        {"n,x,t\n1,2,\"a\n#b\"\n1,2,#\n", "3:1/2/a\n#b;4:1/2/#;"},
        {"n,x\n1,2\n\n# the end\n", "2:1/2/-;"},
        {"n,x\r1,2\r\r3,4", "1:1/2/-;1:3/4/-;"},
        {"\"n\"\t,x,t\n \"1\" ,2, \" a \"\t\n3,4, a b \n5,6,\"\"\n", "2:1/2/ a ;3:3/4/a b;4:5/6/;"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct seen seen;
        struct error error = {.text = ""};
        if (read_text(scratch_text(cases[i].text), &seen, &error) != 0)
            fail_msg("case %zu: %s", i, error.text);
        assert_string_equal(seen.text, cases[i].seen);
    }
}

static void refuses_what_is_not(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", ":1: empty file; expected a header line with n,x,[t]"},
        {"\n\n", "empty file"},
        {"n\n1\n", ":1: no column 'x'; expected a header line with n,x,[t]"},
        {"n,x,n\n1,2,3\n", ":1: column 'n' appears twice"},
        {"n,x\n1,2\n1\n", ":3: 1 fields, the header has 2"},
        {"n,x\n1,2,3\n", ":2: 3 fields, the header has 2"},
        {"n,x\n-1,2\n", ":2: column 'n': '-1' is not a whole number"},
        {"n,x\n+1,2\n", "'+1' is not a whole number"},
        {"n,x\n1.0,2\n", "'1.0' is not a whole number"},
        {"n,x\n,2\n", "column 'n': '' is not a whole number"},
        {"n,x\n18446744073709551616,2\n", "is too large"},
        {"n,x\n1,nan\n", "column 'x': 'nan' is not a finite number"},
        {"n,x\n1,inf\n", "is not a finite number"},
        {"n,x\n1,0x10\n", "is not a finite number"},
        {"n,x\n1,1e999\n", "is too large"},
        {"n,x\n1,2s\n", "is not a finite number"},
        {"n,x\n1,\n", "column 'x': '' is not a finite number"},
        {"n,x\n1,2\n\n3,4\n", ":3: blank line between rows"},
        {"n,x\n1,\"2\n", "quoted field"},
        {"n,x\n1,2\"3\n", ":2: quotation mark within a field"},
        {"n,x\n1,\"2\" \"3\"\n", ":2: quotation mark within a field"},
        {"n,x\n1,\"2\"3\n", ":2: quotation mark within a field"},
        {"n,x\n1,2\n13,2\n", ":3: thirteen"},
        {"# only a comment\n", "empty file"},
        {"n,x\n# one\n1,2\n\n# two\n3,4\n", ":4: blank line between rows"},
        {"n,x\n #1,2\n", ":2: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct seen seen;
        struct error error = {.text = ""};
        const char *path = scratch_text(cases[i].text);
        assert_int_equal(read_text(path, &seen, &error), -1);
        if (strstr(error.text, cases[i].reason) == NULL || strncmp(error.text, path, strlen(path)) != 0)
            fail_msg("case %zu: '%s' does not hold '%s'", i, error.text, cases[i].reason);
    }
}

static void refuses_binary_and_endless_lines(void **state)
{
    (void)state;
    struct seen seen;
    struct error error;
    static const char zero[] = "n,x\n1,\0002\n";
    assert_int_equal(read_text(scratch_write(zero, sizeof zero - 1), &seen, &error), -1);
    assert_non_null(strstr(error.text, ":2: zero byte"));
    size_t length = 3u << 20;
    char *endless = malloc(length);
    assert_non_null(endless);
    memset(endless, '7', length);
    assert_int_equal(read_text(scratch_write(endless, length), &seen, &error), -1);
    assert_non_null(strstr(error.text, ":1: line of more than"));
    memset(endless, ',', length);
    assert_int_equal(read_text(scratch_write(endless, length), &seen, &error), -1);
    memcpy(endless, "n,x,t\n1,2,\"", 11);
    for (size_t i = 1000; i < length; i += 1000)
        endless[i] = '\n';
    assert_int_equal(read_text(scratch_write(endless, length), &seen, &error), -1);
    assert_non_null(strstr(error.text, ":1050: row of more than 1048576 bytes"));
    free(endless);
    assert_int_equal(read_text("/tmp", &seen, &error), -1);
    assert_non_null(strstr(error.text, "/tmp: cannot be read"));
    assert_int_equal(read_text(scratch_gone(), &seen, &error), -1);
    assert_non_null(strstr(error.text, "cannot be opened"));
}

static int note_comment(void *context, const char *text, struct error *error)
{
    struct seen *seen = context;
    size_t length = strlen(seen->text);
    snprintf(seen->text + length, sizeof seen->text - length, "[%.20s]", text);
    return strcmp(text, "bad") == 0 ? error_set(error, "a bad one") : 0;
}

static void hands_comments_on(void **state)
{
    (void)state;
    struct csv_column columns[] = {{.name = "n", .kind = CSV_U64},
                                   {.name = "x", .kind = CSV_REAL},
                                   {.name = "t", .kind = CSV_TEXT, .optional = true}};
    struct seen seen = {.text = ""};
    struct error error = {.text = ""};
    const char *path = scratch_text("# first\r\nn,x\n##second , \"\n1,2\n#\n#last");
    if (csv_read(path, columns, 3, CSV_WHOLE, note_row, note_comment, &seen, &error) != 0)
        fail_msg("%s", error.text);
    assert_string_equal(seen.text, "[first][second , \"]4:1/2/-;[][last]");
    assert_int_equal(
        csv_read(scratch_text("n,x\n1,2\n# bad\n"), columns, 3, CSV_WHOLE, note_row, note_comment, &seen, &error), -1);
    assert_non_null(strstr(error.text, ":3: a bad one"));
    /* This comment is longer than what is handed on, and than the pieces in which the file is read. */
    size_t length = 200000;
    char *text = malloc(length);
    assert_non_null(text);
    memset(text, 'c', length);
    memcpy(text, "n,x\n#", 5);
    memcpy(text + length - 5, "\n1,2\n", 5);
    seen.text[0] = '\0';
    if (csv_read(scratch_write(text, length), columns, 3, CSV_WHOLE, note_row, note_comment, &seen, &error) != 0)
        fail_msg("%s", error.text);
    assert_string_equal(seen.text, "[cccccccccccccccccccc]3:1/2/-;");
    free(text);
}

static void reads_across_pieces(void **state)
{
    (void)state;
    enum { ROWS = 40000 };
    char *text = malloc(ROWS * 16 + 8);
    assert_non_null(text);
    size_t length = (size_t)sprintf(text, "n,x\n");
    for (unsigned i = 0; i < ROWS; i++)
        length += (size_t)sprintf(text + length, "%u,%u\r\n", i + 14, i);
    struct seen seen;
    struct error error = {.text = ""};
    if (read_text(scratch_write(text, length), &seen, &error) != 0)
        fail_msg("%s", error.text);
    assert_int_equal(seen.rows, ROWS);
    length += (size_t)sprintf(text + length, "13,1\n");
    assert_int_equal(read_text(scratch_write(text, length), &seen, &error), -1);
    assert_non_null(strstr(error.text, ":40002: thirteen"));
    free(text);
}

struct whole_seen {
    uint64_t rows, sum; /* sum: of lines and values, each times another power of a prime */
};

static int note_whole(void *context, size_t line, const union csv_value *values, struct error *error)
{
    struct whole_seen *seen = context;
    if (values[0].u64 == 13)
        return error_set(error, "thirteen");
    const uint64_t parts[] = {line, values[0].u64, values[1].u64};
    for (size_t i = 0; i < 3; i++)
        seen->sum = seen->sum * 1000003 + parts[i];
    seen->rows++;
    return 0;
}

/* Rows of whole numbers are read another way, unless a text is asked for as well: both ways see the same, whatever
 * stands between such rows, and say the same of what is wrong. */
static void reads_whole_numbers_alike(void **state)
{
    (void)state;
    static const char *const lines[] = {"1,2,3\n",
                                        "18446744073709551615,0,0\n",
                                        "9999999999999999999,00012,7\n",
                                        " 4,5 ,6\n",
                                        "7,\"8\",9\n",
                                        "# 1,2,3\n",
                                        "1,2,3\r\n",
                                        "1,2,x\n",
                                        "10,11,\n",
                                        "5,6,\"a\n1,2,3\n\"\n"};
    static const char *const wrong[] = {"",         "13,1,1\n", "1,2\n",     "1,2,3,4\n",
                                        "-1,2,3\n", "1,,3\n",   "\n1,2,3\n", "18446744073709551616,1,1\n",
                                        "1,2,3 4",  "1,2"};
    enum { ROWS = 20000, MOST = 32 };
    char *text = malloc(ROWS * MOST + 2 * MOST);
    assert_non_null(text);
    unsigned chance = 1;
    for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
        size_t length = (size_t)sprintf(text, "n,x,y\n");
        for (size_t i = 0; i < ROWS; i++) {
            chance = chance * 1103515245 + 12345;
            size_t line = chance >> 16 & 63;
            length += (size_t)sprintf(text + length, "%s", lines[line < sizeof lines / sizeof lines[0] ? line : 0]);
        }
        length += (size_t)sprintf(text + length, "%s", wrong[w]);
        const char *path = scratch_write(text, length);
        struct csv_column columns[] = {{.name = "n", .kind = CSV_U64},
                                       {.name = "x", .kind = CSV_U64},
                                       {.name = "t", .kind = CSV_TEXT, .optional = true}};
        struct whole_seen seen[2] = {{0}};
        struct error errors[2] = {{.text = ""}, {.text = ""}};
        int result[2];
        for (size_t way = 0; way < 2; way++)
            result[way] = csv_read(path, columns, 2 + way, CSV_WHOLE, note_whole, NULL, &seen[way], &errors[way]);
        assert_int_equal(result[0], w == 0 || w == 8 ? 0 : -1);
        assert_int_equal(result[0], result[1]);
        assert_string_equal(errors[0].text, errors[1].text);
        assert_int_equal(seen[0].rows, seen[1].rows);
        assert_int_equal(seen[0].sum, seen[1].sum);
        assert_true(seen[0].rows > ROWS / 2);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(reads_what_is_well_formed, scratch_remove),
        cmocka_unit_test_teardown(refuses_what_is_not, scratch_remove),
        cmocka_unit_test_teardown(refuses_binary_and_endless_lines, scratch_remove),
        cmocka_unit_test_teardown(hands_comments_on, scratch_remove),
        cmocka_unit_test_teardown(reads_across_pieces, scratch_remove),
        cmocka_unit_test_teardown(reads_whole_numbers_alike, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

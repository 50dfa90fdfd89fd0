/* Tests resume.h: which rows of an earlier run count, and which files are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/samples/resume.h"
#include "tests/unit/scratch.h"

#include <cmocka.h> /* last: it defines fail as a macro */

#define HEADER "benchmark,variant,level,bytes,n,count,seconds,launch,ranks,domain,repeats,at_s\n"
#define ROW    "pingpong,,intra_socket,64,1,1,2.5e-07,1,0-1,l3,4000,1.250\n"

#define PROBE(verdict) "# probe pingpong 1 1.1 1e-07 2e-04 0 0 " verdict "\n"

static const char *const pingpong[] = {"pingpong"};

static void takes_own_rows(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n_rows;
        double spent_s;
    } cases[] = {
        {"", 0, 0},
        {"# only remarks\n", 0, 0},
        {HEADER, 0, 0},
        {HEADER ROW, 1, 1.25},
        {HEADER ROW ROW, 2, 1.25},
        {"# mpistair calibrate\n#\n" HEADER "# rendezvous intra_socket 4096 x\n" ROW, 1, 1.25},
        {HEADER ROW "pingpong,,intra_socket,64,1,1,2.5e-07,1,0-1,l3,40", 1, 1.25},       /* cut off */
        {HEADER ROW "pingpong,,intra_socket,64,1,1,2.5e-07,1,0-1,l3,4000,9.9", 1, 1.25}, /* perhaps cut off */
        {HEADER "algorithm1,,intra_socket,64,1,1,1,1,x,,1,7\n" ROW, 1, 1.25},            /* another benchmark */
        {HEADER ROW "pingpong,,intra_socket,64,1,1,1,2,0-1,,1,7\n", 1, 1.25},            /* another launch */
        {HEADER ROW HEADER ROW, 2, 1.25},                                                /* programs in turn */
        {HEADER ROW PROBE("quiet") ROW PROBE("level") ROW, 2, 1.25},                     /* to be measured again */
        {HEADER ROW "# begin pingpong 1 9\n" PROBE("level") ROW, 2, 1.25},
        {HEADER ROW "# probe pingpong 1 1.1 1e-07 2e-04 0 0\n", 0, -1},
        {"waited," HEADER "0.01," ROW "0.5," ROW "," ROW, 2, 1.25},
        {"waited," HEADER "1.01x," ROW, 0, -1},
        {HEADER "queue,posted_inorder,intra_socket,nonsense\n", 0, -1},                   /* fields lack */
        {"at_s,benchmark,new,variant,level,bytes,n,count,seconds,launch,ranks,domain\r\n" /* other order, CRLF */
         "3.5,pingpong,?,,inter_node,18446744073709551615,2,1,1,1,0-3,\r\n",
         1, 3.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct resume resume = {.rows = NULL};
        struct error error = {.text = ""};
        int result = resume_read(scratch_text(cases[i].text), pingpong, 1, 1, &resume, &error);
        if (result != (cases[i].spent_s < 0 ? -1 : 0))
            fail_msg("case %zu: %d, %s", i, result, error.text);
        if (result == 0 && (resume.n_rows != cases[i].n_rows || resume.spent_s != cases[i].spent_s))
            fail_msg("case %zu: %zu rows, %g s", i, resume.n_rows, resume.spent_s);
        resume_release(&resume);
    }
}

static void keeps_values(void **state)
{
    static const char *const both[] = {"pingpong", "queue"};
    (void)state;
    struct resume resume;
    struct error error;
    const char *path = scratch_text(HEADER "queue,posted_reversed,inter_node,8,10000,16,0.25,3,2-5,numa,1,12.5\n");
    assert_int_equal(resume_read(path, both, 2, 3, &resume, &error), 0);
    assert_int_equal(resume.n_rows, 1);
    const struct resume_row *row = resume.rows;
    assert_string_equal(row->variant, "posted_reversed");
    assert_string_equal(row->ranks, "2-5");
    assert_string_equal(row->ranks, "2-5");
    assert_string_equal(row->domain, "numa");
    assert_int_equal(row->level, LEVEL_INTER_NODE);
    assert_int_equal(row->bytes, 8);
    assert_int_equal(row->n, 10000);
    assert_int_equal(row->count, 16);
    assert_true(row->seconds == 0.25);
    resume_release(&resume);
}

static void refuses_what_is_not(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {ROW, ":1: no column 'benchmark'"},
        {"benchmark,level\n" ROW, ":1: no column 'variant'"},
        {HEADER "pingpong,,nowhere,64,1,1,1,1,0-1,,1,1\n", ":2: column 'level': 'nowhere'"},
        {HEADER "pingpong,,intra_socket,-64,1,1,1,1,0-1,,1,1\n", "column 'bytes'"},
        {HEADER "pingpong,,intra_socket,64,1,1,nan,1,0-1,,1,1\n", "column 'seconds': 'nan'"},
        {HEADER "pingpong,,intra_socket,64,1,1,-1,1,0-1,,1,1\n", "column 'seconds'"},
        {HEADER "pingpong,,intra_socket,64,1,1,1,1,0-1,,1,1e999\n", "column 'at_s'"},
        {HEADER "pingpong,,intra_socket,64,1,1,1,one,0-1,,1,1\n", "column 'launch'"},
        {HEADER ROW "pingpong,,intra_socket\n", ":3: 3 fields, the header has 12"},
        {HEADER "pingpong,an_endless_variant_that_no_benchmark_has,intra_socket,64,1,1,1,1,0-1,,1,1\n", "'variant'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct resume resume = {.n_rows = 77};
        struct error error = {.text = ""};
        assert_int_equal(resume_read(scratch_text(cases[i].text), pingpong, 1, 1, &resume, &error), -1);
        if (strstr(error.text, cases[i].reason) == NULL)
            fail_msg("case %zu: '%s' does not hold '%s'", i, error.text, cases[i].reason);
        assert_int_equal(resume.n_rows, 77);
    }
    static const char zero[] = HEADER "ping\0pong\n";
    struct resume resume;
    struct error error;
    assert_int_equal(resume_read(scratch_write(zero, sizeof zero - 1), pingpong, 1, 1, &resume, &error), -1);
    assert_non_null(strstr(error.text, ":2: zero byte"));
    assert_int_equal(resume_read(scratch_gone(), pingpong, 1, 1, &resume, &error), -1);
    assert_ptr_equal(strstr(error.text, "--resume /tmp/"), error.text);
    assert_non_null(strstr(error.text, ": cannot be opened"));
    assert_int_equal(resume_read("/tmp", pingpong, 1, 1, &resume, &error), -1);
    assert_non_null(strstr(error.text, "cannot be read"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(takes_own_rows, scratch_remove),
        cmocka_unit_test_teardown(keeps_values, scratch_remove),
        cmocka_unit_test_teardown(refuses_what_is_not, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests share/base/settings.h: what a file of defaults gives, whatever the file is, and what is said of it. */
#include "share/base/settings.h"

#include "tests/unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* last: it defines fail as a macro */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char said[2048];

/* Reads the file at a path, and keeps what is said of it, "" if nothing is. errno must stay. */
static void read_path(const char *path)
{
    said[0] = '\0';
    setenv("MPISTAIR_CONF", path, 1);
    errno = EDOM;
    settings_read(NULL);
    assert_int_equal(errno, EDOM);
    bool is_wrong = settings_complaint(said, sizeof said);
    assert_int_equal(errno, EDOM);
    assert_int_equal(is_wrong, said[0] != '\0');
    assert_null(strchr(said, '\n'));
}

static void read_bytes(const char *bytes, size_t length)
{
    read_path(scratch_write(bytes, length));
}

static void read_text(const char *text)
{
    read_bytes(text, strlen(text));
}

/* What is said ends with `end`, behind the file's name. */
static void assert_said(const char *end)
{
    const char *path = getenv("MPISTAIR_CONF");
    assert_memory_equal(said, path, strlen(path));
    assert_string_equal(said + strlen(path), end);
}

static void assert_no_value(void)
{
    const char *name;
    for (size_t at = 0; settings_default(at, &name), name != NULL; at++)
        assert_null(settings_default(at, &name));
}

static void test_values(void **state)
{
    (void)state;
    read_text("# a site\n\n  MPISTAIR_DETAIL = none \t\n\tMPISTAIR_WINDOW=mark 3-5 # the solver\nMPISTAIR_STACK=\n"
              "MPISTAIR_READERS=all\nMPISTAIR_READERS=group\n  # MPISTAIR_THREAD=0\nMPISTAIR_OUTPUT=a#b=c.db");
    assert_string_equal(said, "");
    assert_string_equal(setting("MPISTAIR_DETAIL"), "none");
    assert_string_equal(setting("MPISTAIR_WINDOW"), "mark 3-5");
    assert_string_equal(setting("MPISTAIR_STACK"), "");
    assert_string_equal(setting("MPISTAIR_READERS"), "group");
    assert_string_equal(setting("MPISTAIR_OUTPUT"), "a#b=c.db");
    assert_null(setting("MPISTAIR_THREAD"));
    assert_null(getenv("MPISTAIR_DETAIL"));
    assert_string_equal(settings_file(), getenv("MPISTAIR_CONF"));
}

static void test_environment_wins(void **state)
{
    (void)state;
    read_text("MPISTAIR_DETAIL=none\nMPISTAIR_STACK=3\n");
    setenv("MPISTAIR_DETAIL", "full", 1);
    setenv("MPISTAIR_STACK", "", 1);
    setenv("MPISTAIR_KEY", "job", 1);
    assert_string_equal(setting("MPISTAIR_DETAIL"), "full");
    assert_string_equal(setting("MPISTAIR_STACK"), "");
    assert_string_equal(setting("MPISTAIR_KEY"), "job");
    unsetenv("MPISTAIR_DETAIL");
    unsetenv("MPISTAIR_STACK");
    unsetenv("MPISTAIR_KEY");
    assert_string_equal(setting("MPISTAIR_DETAIL"), "none");
}

static void test_crlf(void **state)
{
    (void)state;
    read_text("# a site\r\n\r\nMPISTAIR_DETAIL=none\r\nMPISTAIR_STACK=4\r\n");
    assert_string_equal(said, "");
    assert_string_equal(setting("MPISTAIR_DETAIL"), "none");
    assert_string_equal(setting("MPISTAIR_STACK"), "4");
}

static void test_wrong_lines(void **state)
{
    (void)state;
    read_text("MPISTAIR_DETAIL=none\nMPISTAIR_DETIAL=none\n");
    assert_said(":2: 'MPISTAIR_DETIAL' is not a known key");
    assert_string_equal(setting("MPISTAIR_DETAIL"), "none");
    read_text("\n\nMPISTAIR_KEY=mine\nPATH=/tmp\n");
    assert_said(":3: 'MPISTAIR_KEY' is not a known key; 1 more line is wrong");
    assert_null(setting("MPISTAIR_KEY"));
    read_text("MPISTAIR_DETAIL none\n=\nMPISTAIR_DETAILS=none\nMPISTAIR_DETAI=none\nMPISTAIR_STACK=1\n");
    assert_said(":1: not understood, as it is not KEY=VALUE; 3 more lines are wrong");
    assert_string_equal(setting("MPISTAIR_STACK"), "1");
    assert_null(setting("MPISTAIR_DETAIL"));
    read_text("a\033[31m\xc3\xa4 b=1\n");
    assert_said(":1: 'a?[31m???b' is not a known key");
}

static void test_binary(void **state)
{
    (void)state;
    static const char nul[] = "MPISTAIR_STACK=1\0\nMPISTAIR_DETAIL=none\n";
    read_bytes(nul, sizeof nul - 1);
    assert_said(":1: not understood, as it is not KEY=VALUE");
    assert_null(setting("MPISTAIR_STACK"));
    assert_string_equal(setting("MPISTAIR_DETAIL"), "none");
    char bytes[60000];
    uint32_t state_of_random = 1;
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (char)((state_of_random = state_of_random * 1664525U + 1013904223U) >> 24);
        read_bytes(bytes, sizeof bytes);
        assert_non_null(strstr(said, "more lines are wrong"));
        assert_no_value();
    }
}

static void test_sizes(void **state)
{
    (void)state;
    enum { MOST = 65536 };
    static char text[MOST + 1];
    memset(text, '#', sizeof text);
    memcpy(text + MOST - 17, "\nMPISTAIR_STACK=2", 17);
    read_bytes(text, MOST);
    assert_string_equal(said, "");
    assert_string_equal(setting("MPISTAIR_STACK"), "2");
    read_bytes(text, MOST + 1);
    assert_said(": no defaults are read: it has more than 64 KiB");
    assert_no_value();
    assert_null(settings_file());
    read_text("");
    assert_string_equal(said, "");
    assert_no_value();
    assert_non_null(settings_file());
}

static void test_no_file(void **state)
{
    (void)state;
    read_text("MPISTAIR_STACK=2\n");
    read_path(scratch_gone());
    assert_said(": no defaults are read: No such file or directory");
    assert_no_value();
    read_path("");
    assert_string_equal(said, "");
    assert_null(settings_file());
    assert_no_value();
    read_path("/");
    assert_said(": no defaults are read: it is not a regular file");
    read_path("/dev/null");
    assert_said(": no defaults are read: it is not a regular file");
    const char *pipe = scratch_gone();
    assert_int_equal(mkfifo(pipe, 0600), 0);
    read_path(pipe);
    unlink(pipe);
    assert_said(": no defaults are read: it is not a regular file");
    assert_no_value();
    char name[5000];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    read_path(name);
    assert_non_null(strstr(said, ": no defaults are read: File name too long"));
}

static void test_unreadable(void **state)
{
    (void)state;
    const char *path = scratch_text("MPISTAIR_STACK=2\n");
    assert_int_equal(chmod(path, 0), 0);
    if (access(path, R_OK) == 0)
        skip(); /* root may read everything */
    read_path(path);
    assert_said(": no defaults are read: Permission denied");
    assert_no_value();
}

/* A relative name starts where it is told, not where the process is. */
static void test_relative(void **state)
{
    (void)state;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", scratch_text("MPISTAIR_STACK=2\n"));
    char *slash = strrchr(folder, '/');
    *slash = '\0';
    setenv("MPISTAIR_CONF", slash + 1, 1);
    settings_read(folder);
    assert_string_equal(setting("MPISTAIR_STACK"), "2");
    settings_read("/proc");
    assert_null(setting("MPISTAIR_STACK"));
}

/* Nothing stays open. */
static void test_descriptors(void **state)
{
    (void)state;
    int before = dup(STDERR_FILENO);
    close(before);
    read_text("MPISTAIR_STACK=2\n");
    read_path("/");
    read_path("/dev/null");
    int after = dup(STDERR_FILENO);
    close(after);
    assert_int_equal(before, after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_values, scratch_remove),
        cmocka_unit_test_teardown(test_environment_wins, scratch_remove),
        cmocka_unit_test_teardown(test_crlf, scratch_remove),
        cmocka_unit_test_teardown(test_wrong_lines, scratch_remove),
        cmocka_unit_test_teardown(test_binary, scratch_remove),
        cmocka_unit_test_teardown(test_sizes, scratch_remove),
        cmocka_unit_test_teardown(test_no_file, scratch_remove),
        cmocka_unit_test_teardown(test_unreadable, scratch_remove),
        cmocka_unit_test_teardown(test_relative, scratch_remove),
        cmocka_unit_test_teardown(test_descriptors, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

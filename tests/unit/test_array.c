/* Tests share/base/array.h: room grows, nothing is lost, and what cannot be had ends the program with a message. */
#include "share/base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* last: it defines fail as a macro */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "share/base/memory.h"

/* AddressSanitizer ends a program that asks for too much memory, unless told otherwise. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void test_grow(void **state)
{
    (void)state;
    uint32_t *list = NULL;
    for (size_t i = 0; i < 1000; i++) {
        array_grow(&list, i, sizeof *list);
        list[i] = (uint32_t)i;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(list[i], i);
    free(list);
}

static void test_reserve(void **state)
{
    (void)state;
    uint64_t *list = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 1000; i++) {
        array_reserve(&list, &capacity, i + 1, sizeof *list);
        assert_true(capacity > i);
        list[i] = i;
    }
    array_reserve(&list, &capacity, 5000, sizeof *list);
    assert_true(capacity >= 5000);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(list[i], i);
    size_t old = capacity;
    array_reserve_zeroed(&list, &capacity, old + 1, sizeof *list);
    for (size_t i = old; i < capacity; i++)
        assert_int_equal(list[i], 0);
    free(list);
}

static void grow_beyond_half(void)
{
    char *list = NULL;
    array_grow(&list, SIZE_MAX / 2 + 1, 64);
}

static void sorts_by_key(void **state)
{
    (void)state;
    const struct {
        double other;
        uint32_t key;
    } rows[] = {{0, 2}, {0, 0}, {0, 2}, {0, 3}, {0, 0}, {0, 2}};
    static const uint32_t expected_order[] = {1, 4, 0, 2, 5, 3}, expected_first[] = {0, 2, 2, 5, 6, 6};
    uint32_t first[6], order[6];
    array_sort_by_key(rows, sizeof *rows, offsetof(__typeof__(*rows), key), 6, 5, first, order);
    assert_memory_equal(order, expected_order, sizeof order);
    assert_memory_equal(first, expected_first, sizeof first);
    array_sort_by_key(NULL, 4, 0, 0, 2, first, order);
    assert_true(first[0] == 0 && first[1] == 0 && first[2] == 0);
}

static void grow_beyond_a_product(void)
{
    char *list = NULL;
    array_grow(&list, (SIZE_MAX >> 3) + 1, 64);
}

static void reserve_too_much(void)
{
    char *list = NULL;
    size_t capacity = 0;
    array_reserve(&list, &capacity, SIZE_MAX / 8 + 1, 8);
}

static void allocate_too_much(void)
{
    free(xcalloc(SIZE_MAX / 2, 3));
}

/* Runs what cannot have its memory in a child process and holds its message and exit status. */
static void assert_ends(void (*ask)(void))
{
    int ends[2], status;
    static char text[65536];
    size_t length = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        ask();
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)n;
    text[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_non_null(strstr(text, "mpistair: no memory: "));
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_ends(grow_beyond_half);
    assert_ends(grow_beyond_a_product);
    assert_ends(reserve_too_much);
    assert_ends(allocate_too_much);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sorts_by_key), cmocka_unit_test(test_grow),
                                       cmocka_unit_test(test_reserve), cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

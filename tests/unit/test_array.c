/* Tests share/base/array.h: room grows, nothing is lost, and what cannot be had leaves the array as it was. */
#include "share/base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* last: it defines fail as a macro */
#include <stdlib.h>

static void test_grow(void **state)
{
    (void)state;
    uint32_t *list = NULL;
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(array_grow(&list, i, sizeof *list), 0);
        list[i] = (uint32_t)i;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(list[i], i);
    uint32_t *before = list;
    assert_int_equal(array_grow(&list, SIZE_MAX / 2 + 1, 64), -1);
    assert_int_equal(array_grow(&list, SIZE_MAX / 4 + 1, 64), -1);
    assert_ptr_equal(list, before);
    free(list);
}

static void test_reserve(void **state)
{
    (void)state;
    uint64_t *list = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(array_reserve(&list, &capacity, i + 1, sizeof *list), 0);
        assert_true(capacity > i);
        list[i] = i;
    }
    assert_int_equal(array_reserve(&list, &capacity, 5000, sizeof *list), 0);
    assert_true(capacity >= 5000);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(list[i], i);
    uint64_t *before = list;
    size_t old = capacity;
    assert_int_equal(array_reserve(&list, &capacity, SIZE_MAX / 8 + 1, sizeof *list), -1);
    assert_int_equal(array_reserve_zeroed(&list, &capacity, SIZE_MAX, sizeof *list), -1);
    assert_ptr_equal(list, before);
    assert_int_equal(capacity, old);
    assert_int_equal(array_reserve_zeroed(&list, &capacity, old + 1, sizeof *list), 0);
    for (size_t i = old; i < capacity; i++)
        assert_int_equal(list[i], 0);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_grow), cmocka_unit_test(test_reserve)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests ranks on one processor though there was one for each. */
#include "calibrate/measure/processor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void sees_two_on_one_processor(void **state)
{
    (void)state;
    const struct sharing apart[] = {{1, 2, 0, 0}, {1, 2, 1, 1}}, begins[] = {{1, 2, 0, 0}, {1, 2, 0, 1}},
                         ends[] = {{1, 2, 0, 1}, {1, 2, 1, 1}};
    assert_false(sharing_found(apart, 2));
    assert_true(sharing_found(begins, 2));
    assert_true(sharing_found(ends, 2));
    assert_false(sharing_found(apart, 0));
}

static void lets_ranks_share_that_have_to(void **state)
{
    (void)state;
    const struct sharing three_on_two[] = {{1, 2, 0, 0}, {1, 2, 0, 0}, {1, 2, 1, 1}},
                         bound_to_one[] = {{1, 1, 0, 0}, {1, 1, 0, 0}}, unknown[] = {{1, 0, 0, 0}, {1, 0, 0, 0}};
    assert_false(sharing_found(three_on_two, 3));
    assert_false(sharing_found(bound_to_one, 2));
    assert_false(sharing_found(unknown, 2));
}

static void tells_machines_apart(void **state)
{
    (void)state;
    const struct sharing two_machines[] = {{1, 2, 0, 0}, {2, 2, 0, 0}},
                         one_shares[] = {{1, 2, 0, 0}, {2, 2, 0, 0}, {2, 2, 0, 0}};
    assert_false(sharing_found(two_machines, 2));
    assert_true(sharing_found(one_shares, 3));
    assert_true(sharing_machine() == sharing_machine());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sees_two_on_one_processor),
        cmocka_unit_test(lets_ranks_share_that_have_to),
        cmocka_unit_test(tells_machines_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Random numbers: the published ones of either generator, and their ranges. */
#include "share/base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void published_numbers(void **state)
{
    (void)state;
    uint64_t own = 1234567;
    assert_int_equal(random_next(&own), UINT64_C(6457827717110365317));
    assert_int_equal(random_next(&own), UINT64_C(3203168211198807973));
    struct twister twister;
    twister_seed(&twister, 5489);
    for (int i = 1; i < 10000; i++)
        twister_next(&twister);
    assert_int_equal(twister_next(&twister), UINT32_C(4123659995)); /* as ISO C++ wants of std::mt19937 */
}

static void orders_have_each_number_once(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct twister twister;
    twister_seed(&twister, 3);
    for (uint64_t seed = 0; seed < 20; seed++) {
        size_t order[N], met[N] = {0};
        uint64_t own = seed;
        random_order(&own, order, N);
        if (seed % 2 == 1)
            twister_shuffle(&twister, order, N);
        for (size_t i = 0; i < N; i++)
            met[order[i]]++;
        for (size_t i = 0; i < N; i++)
            assert_int_equal(met[i], 1);
    }
}

static void distributions(void **state)
{
    (void)state;
    enum { N = 200000 };
    struct twister twister;
    twister_seed(&twister, 1);
    double uniform = 0, normal = 0, squares = 0;
    size_t dice[6] = {0};
    for (int i = 0; i < N; i++) {
        uniform += twister_uniform(&twister);
        double drawn = twister_gaussian(&twister, 2);
        normal += drawn;
        squares += drawn * drawn;
        dice[twister_below(&twister, 6)]++;
    }
    assert_true(uniform / N > 0.497 && uniform / N < 0.503);
    assert_true(normal / N > -0.02 && normal / N < 0.02);
    assert_true(squares / N > 3.94 && squares / N < 4.06);
    for (int i = 0; i < 6; i++)
        assert_in_range(dice[i], N / 6 - 1000, N / 6 + 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(published_numbers),
                                       cmocka_unit_test(orders_have_each_number_once), cmocka_unit_test(distributions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

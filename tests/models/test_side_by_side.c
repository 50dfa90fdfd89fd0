/* Several models at a time give what one after the other gives, bit for bit, and the same error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/models/cases.h"
#include "share/base/side_by_side.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { MAX_JOBS = 32, MANY = 1000 };

struct all_models {
    const struct model_case *c;
    struct prediction predictions[MAX_JOBS];
};

static int predict_one(void *context, size_t number, struct error *error)
{
    (void)error;
    struct all_models *all = context;
    all->predictions[number] = case_predict(all->c, model_table[number]->name, LATENCY_MAX);
    return 0;
}

static void same_bits(void **state)
{
    (void)state;
    struct chance chance = {.state = 11};
    size_t n_models = 0;
    while (model_table[n_models] != NULL)
        n_models++;
    assert_in_range(n_models, 1, MAX_JOBS);
    for (int round = 0; round < 20; round++) {
        struct model_case c;
        struct all_models one = {.c = &c}, several = {.c = &c};
        case_random(&c, &chance, round % 2 == 1);
        assert_int_equal(side_by_side(n_models, 1, predict_one, &one, NULL), 0);
        assert_int_equal(side_by_side(n_models, 4, predict_one, &several, NULL), 0);
        for (size_t m = 0; m < n_models; m++) {
            size_t size = c.placement.n_ranks * sizeof *one.predictions[m].time_s;
            assert_memory_equal(one.predictions[m].time_s, several.predictions[m].time_s, size);
            for (size_t part = 0; part < PART_COUNT; part++)
                assert_memory_equal(one.predictions[m].part_s[part], several.predictions[m].part_s[part], size);
            prediction_release(&one.predictions[m]);
            prediction_release(&several.predictions[m]);
        }
        case_release(&c);
    }
}

struct counts {
    atomic_int done[MANY];
    size_t fails_from;
};

static int count(void *context, size_t number, struct error *error)
{
    struct counts *counts = context;
    atomic_fetch_add(&counts->done[number], 1);
    return number < counts->fails_from ? 0 : error_set(error, "job %zu", number);
}

static void each_once(void **state)
{
    (void)state;
    static struct counts counts;
    counts.fails_from = MANY;
    assert_int_equal(side_by_side(MANY, 8, count, &counts, NULL), 0);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(counts.done[i], 1);
    assert_int_equal(side_by_side(0, 0, count, &counts, NULL), 0);
}

static void first_error(void **state)
{
    (void)state;
    for (size_t n_threads = 0; n_threads < 9; n_threads++) {
        struct counts *counts = test_calloc(1, sizeof *counts);
        struct error error = {.text = ""};
        counts->fails_from = 100 + n_threads;
        assert_int_equal(side_by_side(MANY, n_threads, count, counts, &error), -1);
        char expected[16];
        snprintf(expected, sizeof expected, "job %zu", counts->fails_from);
        assert_string_equal(error.text, expected);
        for (size_t i = 0; i < counts->fails_from; i++)
            assert_int_equal(counts->done[i], 1);
        test_free(counts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits), cmocka_unit_test(each_once),
                                       cmocka_unit_test(first_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

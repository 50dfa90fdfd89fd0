/* Tests intervals of predicted times: what is drawn has the table's quantiles, and times get theirs from it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/models/cases.h"
#include "predictor/terms/interval.h"
#include "share/base/statistics.h"

#include <cmocka.h> /* last: it defines fail as a macro */

/* Gives the row added last an interval. */
static void give_interval(struct model_case *c, double low, double high)
{
    c->machine.parameters[c->machine.n_parameters - 1].ci_low = low;
    c->machine.parameters[c->machine.n_parameters - 1].ci_high = high;
}

/* Makes a case: latency 1 us in [0, 2], bandwidth 2 GB/s in [1.8, 2.1] at n = 1, 3 GB/s, exact, at n = 2; no threshold.
 */
static void make_case(struct model_case *c)
{
    *c = (struct model_case){.machine = {.name = "drawn"}};
    case_value(c, LEVEL_INTRA_SOCKET, PROTOCOL_EAGER, "tau", 0, 1e-6, "s");
    give_interval(c, 0, 2e-6);
    case_value(c, LEVEL_INTRA_SOCKET, PROTOCOL_EAGER, "bw", 1, 2e9, "B/s");
    give_interval(c, 1.8e9, 2.1e9);
    case_value(c, LEVEL_INTRA_SOCKET, PROTOCOL_EAGER, "bw", 2, 3e9, "B/s");
    case_value(c, LEVEL_INTRA_SOCKET, PROTOCOL_RENDEZVOUS, "tau", 0, 5e-6, "s");
    case_value(c, LEVEL_INTRA_SOCKET, PROTOCOL_RENDEZVOUS, "bw", 1, 4e9, "B/s");
    case_value(c, LEVEL_INTRA_SOCKET, PROTOCOL_RENDEZVOUS, "threshold", 0, 1e6, "B");
    give_interval(c, 5e5, 2e6);
    case_place(c, 4, NULL, NULL);
}

static void drawn_values_have_the_quantiles(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    struct model_case c;
    struct machine_draws draws, again;
    make_case(&c);
    machine_draws_init(&draws, &c.machine, DRAWS, 7);
    assert_int_equal(draws.n, DRAWS);
    assert_int_equal(draws.n_values, 5);
    assert_int_equal(draws.n_open, 3);
    double *values = malloc(DRAWS * sizeof *values);
    for (size_t row = 0; row < c.machine.n_parameters; row++) {
        const struct machine_parameter *parameter = &c.machine.parameters[row];
        for (size_t i = 0; i < DRAWS; i++)
            values[i] = draws.machines[i].parameters[row].value;
        sort_doubles(values, DRAWS);
        double low = sorted_quantile(values, DRAWS, 0.025);
        double high = sorted_quantile(values, DRAWS, 0.975);
        bool drawn = row < 2;
        if (row == 0) /* the lower side ends at 0 */
            assert_true(low < 0.05 * parameter->value);
        else
            assert_close(low, drawn ? parameter->ci_low : parameter->value, 0.02);
        assert_close(high, drawn ? parameter->ci_high : parameter->value, row == 0 ? 0.04 : 0.02);
        assert_true(values[0] >= 0);
        assert_close(sorted_median(values, DRAWS), parameter->value, drawn ? 0.02 : 1e-15);
    }
    free(values);
    machine_draws_init(&again, &c.machine, 10, 7);
    for (size_t i = 0; i < 10; i++)
        for (size_t row = 0; row < c.machine.n_parameters; row++)
            assert_close(again.machines[i].parameters[row].value, draws.machines[i].parameters[row].value, 0);
    machine_draws_release(&again);
    machine_draws_release(&draws);
    case_release(&c);
}

static struct prediction predict_interval(const struct model_case *c, const char *model)
{
    struct machine_draws draws;
    struct error error = {.text = ""};
    struct model_options options = {.latency = LATENCY_IN};
    struct model_choice choice;
    struct prediction prediction = case_predict(c, model, LATENCY_IN);
    assert_int_equal(model_choose(model, &choice), 0);
    machine_draws_init(&draws, &c->machine, INTERVAL_DRAWS, 1);
    if (prediction_interval(&draws, &choice, &c->pattern, &c->placement, &options, &prediction, &error) != 0)
        fail_msg("%s", error.text);
    machine_draws_release(&draws);
    return prediction;
}

/* By hand: a time that depends on one value alone has that value's interval, as nearly as 200 draws show it. */
static void times_get_the_interval(void **state)
{
    (void)state;
    struct model_case c;
    make_case(&c);
    case_add(&c, 0, 1, 0);       /* 1 us, the latency alone */
    case_add(&c, 2, 0, 1000000); /* rendezvous: exact */
    struct prediction p = predict_interval(&c, "staircase");
    assert_true(p.low_s[1] < 0.2e-6 && p.high_s[1] > 1.7e-6 && p.high_s[1] < 2.4e-6);
    assert_true(isnan(p.low_s[0]) && isnan(p.high_s[0]));
    assert_true(p.low_s[3] >= 0 && p.low_s[3] <= 0 && p.high_s[3] <= 0); /* nothing to do */
    prediction_release(&p);
    c.machine.parameters[0].value = 0; /* no latency: the bandwidth alone */
    c.machine.parameters[0].ci_low = c.machine.parameters[0].ci_high = NAN;
    c.pattern.n_messages = 1;
    pattern_set_bytes(&c.pattern, 0, 900000); /* 450 us: 428.6 to 500 */
    p = predict_interval(&c, "staircase");
    assert_close(p.time_s[1], 450e-6, 1e-12);
    assert_close(p.low_s[1], 900000 / 2.1e9, 0.02);
    assert_close(p.high_s[1], 900000 / 1.8e9, 0.04);
    prediction_release(&p);
    c.machine.parameters[1].ci_high = NAN; /* one end: never faster than the table says */
    p = predict_interval(&c, "staircase");
    assert_close(p.low_s[1], 450e-6, 1e-12);
    assert_close(p.high_s[1], 900000 / 1.8e9, 0.04);
    prediction_release(&p);
    for (size_t row = 0; row < c.machine.n_parameters; row++)
        c.machine.parameters[row].ci_low = c.machine.parameters[row].ci_high = NAN;
    p = predict_interval(&c, "staircase");
    for (size_t rank = 0; rank < 4; rank++)
        assert_true(isnan(p.low_s[rank]) && isnan(p.high_s[rank]));
    prediction_release(&p);
    case_release(&c);
}

/* For any pattern and model the time lies in its interval, and wider intervals of the table make a wider one. */
static void wider_makes_wider(void **state)
{
    (void)state;
    static const char *const models[] = {"postal", "max-rate", "node-aware", "staircase", "flow"};
    struct chance chance = {.state = 11};
    for (size_t i = 0; i < 10; i++) {
        struct model_case c;
        struct prediction predictions[2];
        case_random(&c, &chance, i % 2 == 1);
        for (int wide = 0; wide < 2; wide++) {
            for (size_t row = 0; row < c.machine.n_parameters; row++) {
                struct machine_parameter *parameter = &c.machine.parameters[row];
                parameter->ci_low = parameter->value / (wide ? 1.3 : 1.02);
                parameter->ci_high = parameter->value * (wide ? 1.3 : 1.02);
            }
            predictions[wide] = predict_interval(&c, models[i % 5]);
        }
        for (size_t rank = 0; rank < c.placement.n_ranks; rank++) {
            for (int wide = 0; wide < 2; wide++)
                assert_true(predictions[wide].low_s[rank] <= predictions[wide].time_s[rank] &&
                            predictions[wide].high_s[rank] >= predictions[wide].time_s[rank]);
            assert_true(predictions[0].time_s[rank] <= 0 ||
                        predictions[1].high_s[rank] - predictions[1].low_s[rank] >
                            4 * (predictions[0].high_s[rank] - predictions[0].low_s[rank]));
        }
        prediction_release(&predictions[0]);
        prediction_release(&predictions[1]);
        case_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawn_values_have_the_quantiles),
        cmocka_unit_test(times_get_the_interval),
        cmocka_unit_test(wider_makes_wider),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

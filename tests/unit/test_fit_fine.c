/* Tests what a message of many costs, fitted to made samples: known values come back for each interface and protocol;
 * where samples do not show it there is no row, and a note. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fits.h"
#include "tests/unit/fitted.h"

#include <cmocka.h> /* last: it defines fail as a macro */

#define BYTE_S 1e-10
enum { SAMPLES = 11, RENDEZVOUS_FROM = 8192 };

static const struct {
    uint64_t bytes;
    uint32_t count;
} shapes[] = {{16384, 8}, {16384, 32}, {16384, 128}, {1048576, 2}, {1048576, 16}};

static const struct {
    enum variant variant;
    double eager_s, rendezvous_s; /* of a message */
} costs[] = {{VARIANT_P2P, 300e-9, 2e-6},
             {VARIANT_THREADS, 500e-9, 2.5e-6},
             {VARIANT_RMA, 200e-9, 1e-6},
             {VARIANT_PARTITIONED, 50e-9, 0.8e-6}};

static void add_row(struct machine *machine, enum machine_protocol protocol, const char *quantity, uint64_t n,
                    double value, const char *unit)
{
    struct machine_parameter row = {
        .level = LEVEL_INTER_NODE, .protocol = protocol, .n = n, .value = value, .ci_low = NAN, .ci_high = NAN};
    snprintf(row.quantity, sizeof row.quantity, "%s", quantity);
    snprintf(row.unit, sizeof row.unit, "%s", unit);
    machine_append(machine, &row);
}

/* Makes the rows that a fit of curves leaves. */
static struct machine two_protocols(void)
{
    struct machine machine = {.name = "made"};
    for (int p = PROTOCOL_EAGER; p < PROTOCOL_COUNT; p++) {
        add_row(&machine, (enum machine_protocol)p, "tau", MACHINE_NO_N, 1e-5, "s");
        add_row(&machine, (enum machine_protocol)p, "bw", 1, 1 / BYTE_S, "B/s");
    }
    add_row(&machine, PROTOCOL_RENDEZVOUS, "threshold", MACHINE_NO_N, RENDEZVOUS_FROM, "B");
    return machine;
}

/* Appends n samples around seconds; one in eleven was disturbed. */
static void append_by(struct samples *samples, enum variant variant, uint64_t n_ranks, uint64_t bytes, uint32_t count,
                      double seconds, size_t n)
{
    static const double scatter[SAMPLES] = {1, 0.999, 1.001, 1, 30, 0.9995, 1.0005, 0.9985, 1.0015, 0.999, 1.001};
    for (size_t i = 0; i < n; i++) {
        const struct sample sample = {.benchmark = BENCHMARK_FINE,
                                      .variant = (uint8_t)variant,
                                      .level = LEVEL_INTER_NODE,
                                      .n = n_ranks,
                                      .bytes = bytes,
                                      .count = count,
                                      .launch = 1,
                                      .seconds = scatter[i] * seconds};
        samples_append(samples, &sample);
    }
}

static void append(struct samples *samples, enum variant variant, uint64_t bytes, uint32_t count, double seconds,
                   size_t n)
{
    append_by(samples, variant, 1, bytes, count, seconds, n);
}

static double value_of(const struct machine *machine, enum machine_protocol protocol, const char *quantity)
{
    return machine_value(machine, LEVEL_INTER_NODE, protocol, quantity, -1);
}

static void assert_value(const struct machine *machine, enum machine_protocol protocol, const char *quantity,
                         double expected)
{
    double value = value_of(machine, protocol, quantity);
    if (!(fabs(value - expected) <= 0.05 * fabs(expected)))
        fail_msg("%s %s: %g, expected %g", machine_protocol_name[protocol], quantity, value, expected);
}

static void messages_cost(void **state)
{
    (void)state;
    char notes[512];
    struct samples samples = {0};
    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++)
        for (size_t j = 0; j < sizeof shapes / sizeof shapes[0]; j++) {
            bool eager = shapes[j].bytes / shapes[j].count < RENDEZVOUS_FROM;
            double message_s = eager ? costs[i].eager_s : costs[i].rendezvous_s;
            append(&samples, costs[i].variant, shapes[j].bytes, shapes[j].count,
                   5e-6 + message_s * shapes[j].count + BYTE_S * (double)shapes[j].bytes, SAMPLES);
        }
    struct machine machine = fitted_onto(two_protocols(), fit_fine, &samples, notes, sizeof notes);
    assert_string_equal(notes, "");
    assert_value(&machine, PROTOCOL_EAGER, "tau_p2p", 300e-9);
    assert_value(&machine, PROTOCOL_RENDEZVOUS, "tau_p2p", 2e-6);
    assert_value(&machine, PROTOCOL_EAGER, "tau_rma", 200e-9);
    assert_value(&machine, PROTOCOL_RENDEZVOUS, "tau_rma", 1e-6);
    assert_value(&machine, PROTOCOL_EAGER, "tau_partitioned", 50e-9);
    assert_value(&machine, PROTOCOL_RENDEZVOUS, "tau_partitioned", 0.8e-6);
    assert_value(&machine, PROTOCOL_EAGER, "tau_thread", 200e-9);
    assert_value(&machine, PROTOCOL_RENDEZVOUS, "tau_thread", 0.5e-6);
    for (size_t i = 0; i < machine.n_parameters; i++) {
        const struct machine_parameter *row = &machine.parameters[i];
        if (strncmp(row->quantity, "tau_", 4) != 0)
            continue;
        assert_true(row->ci_low <= row->value && row->value <= row->ci_high && row->ci_low >= 0);
        assert_string_equal(row->method, strcmp(row->quantity, "tau_thread") == 0 ? "two-threads" : "many-few");
    }
    machine_release(&machine);
}

/* Threads that send side by side cost nothing; an interface that was not measured has no row. */
static void threads_cost_nothing(void **state)
{
    (void)state;
    char notes[512];
    struct samples samples = {0};
    for (uint32_t count = 8; count <= 128; count *= 16) {
        append(&samples, VARIANT_P2P, 16384, count, 1e-6 * count, SAMPLES);
        append(&samples, VARIANT_THREADS, 16384, count, 0.6e-6 * count, SAMPLES);
    }
    append(&samples, VARIANT_EARLY, 16384, 8, 21e-3, SAMPLES);   /* never early */
    append(&samples, VARIANT_EARLY, 1048576, 2, 21e-3, SAMPLES); /* once */
    append(&samples, VARIANT_EARLY, 1048576, 2, 100e-6, 1);
    struct machine machine = fitted_onto(two_protocols(), fit_fine, &samples, notes, sizeof notes);
    assert_value(&machine, PROTOCOL_EAGER, "partitions_early", 0);
    assert_value(&machine, PROTOCOL_RENDEZVOUS, "partitions_early", 1);
    assert_value(&machine, PROTOCOL_EAGER, "tau_p2p", 1e-6);
    assert_value(&machine, PROTOCOL_EAGER, "tau_thread", 0);
    assert_true(value_of(&machine, PROTOCOL_EAGER, "tau_rma") < 0);
    assert_true(value_of(&machine, PROTOCOL_RENDEZVOUS, "tau_p2p") < 0);
    assert_string_equal(notes, "");
    machine_release(&machine);
}

/* Puts take a quarter longer than messages that both ranks send at once, partitions four times as long, a request
 * 9 us; what one rank alone sends says nothing of it. */
static void bytes_cost_by_interface(void **state)
{
    (void)state;
    char notes[512];
    struct samples samples = {0};
    append(&samples, VARIANT_P2P, 1048576, 2, 100e-6, SAMPLES);
    append(&samples, VARIANT_P2P, 1048576, 16, 128e-6, SAMPLES);
    append_by(&samples, VARIANT_P2P, 2, 4194304, 4, 800e-6, SAMPLES);
    append_by(&samples, VARIANT_RMA, 2, 4194304, 4, 1000e-6, SAMPLES);
    append_by(&samples, VARIANT_PARTITIONED, 2, 4194304, 4, 3200e-6, SAMPLES);
    append_by(&samples, VARIANT_PARTITIONED, 2, 16384, 8, 100e-6 + 8 * 9e-6, SAMPLES);
    append_by(&samples, VARIANT_PARTITIONED, 2, 16384, 32, 100e-6 + 32 * 9e-6, SAMPLES);
    struct machine machine = fitted_onto(two_protocols(), fit_fine, &samples, notes, sizeof notes);
    assert_value(&machine, PROTOCOL_ANY, "rate_rma", 0.8);
    assert_value(&machine, PROTOCOL_ANY, "rate_partitioned", 0.25);
    assert_value(&machine, PROTOCOL_ANY, "tau_request", 9e-6);
    assert_value(&machine, PROTOCOL_RENDEZVOUS, "tau_p2p", 2e-6);
    assert_true(value_of(&machine, PROTOCOL_EAGER, "tau_partitioned") < 0);
    assert_string_equal(notes, "");
    for (size_t i = 0; i < machine.n_parameters; i++) {
        const struct machine_parameter *row = &machine.parameters[i];
        if (strncmp(row->quantity, "rate_", 5) != 0)
            continue;
        assert_true(row->ci_low <= row->value && row->value <= row->ci_high && row->ci_low > 0);
        assert_string_equal(row->method, "both-ways");
    }
    machine_release(&machine);
}

/* Without messages of the same bytes there is no rate, nor where puts are as fast; requests that cost nothing have no
 * row. */
static void no_rate(void **state)
{
    (void)state;
    char notes[512];
    struct samples samples = {0};
    append_by(&samples, VARIANT_P2P, 2, 2097152, 4, 400e-6, SAMPLES);
    append_by(&samples, VARIANT_RMA, 2, 2097152, 4, 400.1e-6, SAMPLES);
    append_by(&samples, VARIANT_PARTITIONED, 2, 4194304, 4, 1600e-6, SAMPLES);
    append_by(&samples, VARIANT_PARTITIONED, 2, 16384, 8, 100e-6, SAMPLES);
    append_by(&samples, VARIANT_PARTITIONED, 2, 16384, 32, 90e-6, SAMPLES);
    struct machine machine = fitted_onto(two_protocols(), fit_fine, &samples, notes, sizeof notes);
    assert_int_equal(machine.n_parameters, 5);
    assert_string_equal(notes, "inter_node: rate_rma left out: 1.00 is not significantly different from 1\n");
    machine_release(&machine);
}

static void nothing_shows(void **state)
{
    (void)state;
    char notes[512];
    struct samples samples = {0};
    append(&samples, VARIANT_P2P, 16384, 8, 2e-5, SAMPLES); /* many take no longer */
    append(&samples, VARIANT_P2P, 16384, 128, 2e-5, SAMPLES);
    append(&samples, VARIANT_THREADS, 16384, 8, 2e-5, SAMPLES);
    append(&samples, VARIANT_THREADS, 16384, 128, 9e-5, SAMPLES);
    append(&samples, VARIANT_RMA, 16384, 8, 1e-5, SAMPLES); /* two samples of many */
    append(&samples, VARIANT_RMA, 16384, 128, 9e-5, 2);
    append(&samples, VARIANT_PARTITIONED, 16384, 8, 1e-5, SAMPLES); /* many are none of this protocol */
    append(&samples, VARIANT_PARTITIONED, 1048576, 16, 1e-4, SAMPLES);
    struct machine machine = fitted_onto(two_protocols(), fit_fine, &samples, notes, sizeof notes);
    assert_int_equal(machine.n_parameters, 5);
    assert_non_null(strstr(notes, "inter_node eager: tau_p2p left out: more messages take no longer"));
    assert_non_null(strstr(notes, "inter_node eager: tau_rma left out: too few samples"));
    assert_null(strstr(notes, "tau_partitioned"));
    machine_release(&machine);
    struct machine none = {.name = "none"};
    struct fit_options options = {0};
    samples = (struct samples){0};
    append(&samples, VARIANT_P2P, 16384, 8, 2e-5, SAMPLES);
    fit_fine(&(struct fit){&samples, &options, &none, NULL});
    assert_int_equal(none.n_parameters, 0);
    samples_release(&samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_cost),           cmocka_unit_test(threads_cost_nothing),
        cmocka_unit_test(bytes_cost_by_interface), cmocka_unit_test(no_rate),
        cmocka_unit_test(nothing_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests what a post costs, who moves bytes while the program computes, and what buffers in caches give, fitted to made
 * samples: known values come back for each protocol; what is ambiguous gives no row, and is said. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fits.h"
#include "tests/unit/fitted.h"

#include <cmocka.h> /* last: it defines fail as a macro */

#define TAU_S  1e-6
#define BYTE_S 1e-9 /* time of a byte of the transfer */
enum { SAMPLES = 5, EAGER_FROM = 512, RENDEZVOUS_FROM = 8192 };

static const uint64_t overhead_sizes[] = {8, 256, 1024, 2048, 4000, 32768, 131072};
static const uint64_t progress_sizes[] = {8, 256, 2048, 32768, 262144};

static void add_row(struct machine *machine, enum machine_protocol protocol, const char *quantity, uint64_t n,
                    double value, const char *unit)
{
    struct machine_parameter row = {
        .level = LEVEL_INTRA_SOCKET, .protocol = protocol, .n = n, .value = value, .ci_low = NAN, .ci_high = NAN};
    snprintf(row.quantity, sizeof row.quantity, "%s", quantity);
    snprintf(row.unit, sizeof row.unit, "%s", unit);
    machine_append(machine, &row);
}

/* Makes the rows that a fit of curves leaves: three protocols within a socket. */
static struct machine three_protocols(void)
{
    static const double from_bytes[PROTOCOL_COUNT] = {
        [PROTOCOL_EAGER] = EAGER_FROM, [PROTOCOL_RENDEZVOUS] = RENDEZVOUS_FROM};
    struct machine machine = {.name = "made"};
    for (int p = PROTOCOL_SHORT; p < PROTOCOL_COUNT; p++) {
        add_row(&machine, (enum machine_protocol)p, "tau", MACHINE_NO_N, TAU_S, "s");
        add_row(&machine, (enum machine_protocol)p, "bw", 1, 1 / BYTE_S, "B/s");
        if (p != PROTOCOL_SHORT)
            add_row(&machine, (enum machine_protocol)p, "threshold", MACHINE_NO_N, from_bytes[p], "B");
    }
    return machine;
}

/* Appends samples around seconds; one in five was disturbed. */
static void append(struct samples *samples, enum benchmark benchmark, enum variant variant, uint64_t bytes,
                   double seconds)
{
    static const double scatter[SAMPLES] = {1, 0.999, 1.001, 1, 30};
    for (int i = 0; i < SAMPLES; i++) {
        const struct sample sample = {.benchmark = (uint8_t)benchmark,
                                      .variant = (uint8_t)variant,
                                      .level = LEVEL_INTRA_SOCKET,
                                      .n = 1,
                                      .bytes = bytes,
                                      .count = 1,
                                      .launch = 1,
                                      .seconds = fmax(scatter[i] * seconds, 1e-9)};
        samples_append(samples, &sample);
    }
}

static double value_of(const struct machine *machine, enum machine_protocol protocol, const char *quantity)
{
    return machine_value(machine, LEVEL_INTRA_SOCKET, protocol, quantity, -1);
}

static void assert_value(const struct machine *machine, enum machine_protocol protocol, const char *quantity,
                         double expected)
{
    double value = value_of(machine, protocol, quantity);
    if (!(fabs(value - expected) <= 0.01 * fabs(expected)))
        fail_msg("%s %s: %g, expected %g", machine_protocol_name[protocol], quantity, value, expected);
}

/* A send of the eager protocol copies: 300 ns and 0.5 ns a byte; others cost the same at every size. */
static double send_s(uint64_t bytes)
{
    if (bytes < EAGER_FROM)
        return 50e-9;
    return bytes < RENDEZVOUS_FROM ? 300e-9 + 0.5e-9 * (double)bytes : 80e-9;
}

static void posts_cost(void **state)
{
    (void)state;
    char notes[256];
    struct samples samples = {0};
    for (size_t i = 0; i < sizeof overhead_sizes / sizeof overhead_sizes[0]; i++) {
        append(&samples, BENCHMARK_OVERHEAD, VARIANT_SEND, overhead_sizes[i], send_s(overhead_sizes[i]));
        append(&samples, BENCHMARK_OVERHEAD, VARIANT_RECEIVE, overhead_sizes[i], i % 3 == 0 ? 20e-9 : 30e-9);
    }
    struct machine machine = fitted_onto(three_protocols(), fit_overhead, &samples, notes, sizeof notes);
    assert_value(&machine, PROTOCOL_SHORT, "overhead_send", 50e-9);
    assert_value(&machine, PROTOCOL_EAGER, "overhead_send", 300e-9);
    assert_value(&machine, PROTOCOL_EAGER, "overhead_send_byte", 0.5e-9);
    assert_value(&machine, PROTOCOL_RENDEZVOUS, "overhead_send", 80e-9);
    assert_value(&machine, PROTOCOL_RENDEZVOUS, "overhead_send_byte", -1); /* no row */
    assert_value(&machine, PROTOCOL_SHORT, "overhead_send_byte", -1);
    assert_value(&machine, PROTOCOL_SHORT, "overhead_receive", 25e-9);
    assert_value(&machine, PROTOCOL_EAGER, "overhead_receive", 30e-9);
    assert_value(&machine, PROTOCOL_EAGER, "overhead_receive_byte", -1);
    for (size_t i = 0; i < machine.n_parameters; i++) {
        const struct machine_parameter *row = &machine.parameters[i];
        if (strcmp(row->quantity, "overhead_receive") == 0 && row->protocol == PROTOCOL_EAGER) {
            assert_int_equal(row->samples, 3 * SAMPLES);
            assert_true(row->ci_low <= 20.1e-9 && row->ci_high >= 29.9e-9); /* of all sizes */
        }
    }
    machine_release(&machine);
}

/* A cost that rises faster than its line leaves nothing at no bytes. */
static void posts_copy(void **state)
{
    (void)state;
    char notes[256];
    struct samples samples = {0};
    append(&samples, BENCHMARK_OVERHEAD, VARIANT_SEND, 1024, 0.6e-7);
    append(&samples, BENCHMARK_OVERHEAD, VARIANT_SEND, 2048, 2.6e-7);
    append(&samples, BENCHMARK_OVERHEAD, VARIANT_SEND, 4000, 4.6e-7);
    struct machine machine = fitted_onto(three_protocols(), fit_overhead, &samples, notes, sizeof notes);
    assert_value(&machine, PROTOCOL_EAGER, "overhead_send", 0);
    double byte_s = value_of(&machine, PROTOCOL_EAGER, "overhead_send_byte");
    assert_true(byte_s > 0.05e-9 && byte_s < 0.15e-9);
    machine_release(&machine);
}

/* Says which share of the bytes is left after a computation of sender, receiver, both, and what follows. */
struct rule {
    double left[3];
    int value; /* -1: no row */
    const char *says;
};

static const struct rule rules[] = {
    {{0, 0, 0}, 0, ""},
    {{0.1, 0.2, 0.2}, 0, ""},
    {{1, 0, 1}, 1, ""},
    {{0, 1, 1}, 2, ""},
    {{0.05, 0.9, 1.1}, 2, ""},
    {{1, 1, 1}, 3, ""},
    {{0, 0.5, 0.5}, -1, "rendezvous: progress left out: of the bytes 0 % stood still while the sender computed, 50 %"},
    {{0, 0, 1}, -1, "rendezvous: progress left out"}, /* either side alone moves them */
    {{1, 0, 0}, -1, "rendezvous: progress left out"}, /* both compute, and it moves: that cannot be */
    {{0, 5, 7}, -1, "rendezvous: progress left out"}, /* what waits longer than for the transfer waits for others */
    {{0.5, 1, 1}, -1, "rendezvous: progress left out"},
};

/* Latencies are left over in any case, as much as half of the time of a small message; they tell nothing. */
static void append_progress(struct samples *samples, const struct rule *rule, uint64_t bytes, double byte_s)
{
    static const enum variant variants[] = {VARIANT_SENDER, VARIANT_RECEIVER, VARIANT_BOTH};
    append(samples, BENCHMARK_PROGRESS, VARIANT_ALONE, bytes, TAU_S + byte_s * (double)bytes);
    for (int i = 0; i < 3; i++)
        append(samples, BENCHMARK_PROGRESS, variants[i], bytes,
               rule->left[i] * byte_s * (double)bytes + (i == 0 ? 0 : TAU_S / 2));
}

static void bytes_move(void **state)
{
    (void)state;
    static const struct rule independent = {{0, 0, 0}, 0, ""};
    char notes[512];
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        struct samples samples = {0};
        for (size_t j = 0; j < sizeof progress_sizes / sizeof progress_sizes[0]; j++)
            append_progress(&samples, progress_sizes[j] < RENDEZVOUS_FROM ? &independent : &rules[i], progress_sizes[j],
                            BYTE_S);
        struct machine machine = fitted_onto(three_protocols(), fit_progress, &samples, notes, sizeof notes);
        double value = value_of(&machine, PROTOCOL_RENDEZVOUS, "progress");
        if (fabs(value - rules[i].value) > 0 || strstr(notes, rules[i].says) == NULL ||
            (rules[i].value >= 0 && strstr(notes, "rendezvous") != NULL))
            fail_msg("rule %zu: %g, expected %d; notes: %s", i, value, rules[i].value, notes);
        assert_value(&machine, PROTOCOL_EAGER, "progress", 0);
        machine_release(&machine);
    }
}

/* Up to 64 KiB messages take 1 us and a byte 0.25 ns, both ways 0.4 ns; larger ones no longer fit in the caches. */
static void buffers_are_cached(void **state)
{
    (void)state;
    char notes[256];
    struct samples samples = {0};
    for (uint64_t bytes = 1024; bytes <= 262144; bytes *= 2) {
        double byte_s = bytes <= 65536 ? 0.25e-9 : 1e-9;
        append(&samples, BENCHMARK_CACHED, VARIANT_ONE_WAY, bytes, TAU_S + (double)bytes * byte_s);
        append(&samples, BENCHMARK_CACHED, VARIANT_BOTH_WAYS, bytes, TAU_S + (double)bytes * 1.6 * byte_s);
    }
    struct machine machine = fitted_onto(three_protocols(), fit_cached, &samples, notes, sizeof notes);
    assert_true(value_of(&machine, PROTOCOL_SHORT, "bw_cached") < 0);
    assert_value(&machine, PROTOCOL_ANY, "cached_bytes", 65536);
    size_t found = 0;
    for (size_t i = 0; i < machine.n_parameters; i++) {
        const struct machine_parameter *row = &machine.parameters[i];
        if (strcmp(row->quantity, "bw_cached") != 0)
            continue;
        double expected = row->n == 1 ? 4e9 : 2 / 0.4e-9;
        assert_true(fabs(row->value - expected) < 0.01 * expected);
        assert_int_equal(row->samples, (row->protocol == PROTOCOL_EAGER ? 3 : 4) * SAMPLES);
        found++;
    }
    assert_int_equal(found, 4); /* eager from 512 B, rendezvous from 8 KiB; one way and both */
    machine_release(&machine);
}

static void nothing_shows(void **state)
{
    (void)state;
    static const struct rule receiver = {{0, 1, 1}, 2, ""};
    char notes[512];
    struct samples samples = {0};
    append(&samples, BENCHMARK_PINGPONG, VARIANT_NONE, 8, TAU_S);
    struct machine machine = fitted_onto(three_protocols(), fit_progress, &samples, notes, sizeof notes);
    assert_true(value_of(&machine, PROTOCOL_RENDEZVOUS, "progress") < 0 && notes[0] == '\0');
    machine_release(&machine);
    samples = (struct samples){0};
    machine = fitted_onto(three_protocols(), fit_overhead, &samples, notes, sizeof notes);
    assert_true(value_of(&machine, PROTOCOL_SHORT, "overhead_send") < 0 && notes[0] == '\0');
    machine_release(&machine);
    samples = (struct samples){0};
    append(&samples, BENCHMARK_PROGRESS, VARIANT_SENDER, 262144, 1e-3); /* all else was disturbed */
    machine = fitted_onto(three_protocols(), fit_progress, &samples, notes, sizeof notes);
    assert_non_null(strstr(notes, "intra_socket rendezvous: progress left out: not all cases of two sizes"));
    machine_release(&machine);
    /* 256 B in 1 us: the bytes do not show. Beside them a case was not measured. */
    samples = (struct samples){0};
    append_progress(&samples, &receiver, 8, BYTE_S / 4);
    append_progress(&samples, &receiver, 256, BYTE_S / 4);
    append(&samples, BENCHMARK_PROGRESS, VARIANT_ALONE, 262144, 1e-3);
    append_progress(&samples, &receiver, 524288, BYTE_S);
    samples.n_samples -= SAMPLES - 2; /* of what was measured last there are two */
    machine = fitted_onto(three_protocols(), fit_progress, &samples, notes, sizeof notes);
    assert_true(value_of(&machine, PROTOCOL_SHORT, "progress") < 0);
    assert_true(value_of(&machine, PROTOCOL_RENDEZVOUS, "progress") < 0);
    assert_non_null(strstr(notes, "intra_socket short: progress left out: bytes take too little of the time to tell"));
    assert_non_null(strstr(notes, "intra_socket rendezvous: progress left out: not all cases of two sizes"));
    machine_release(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(posts_cost),         cmocka_unit_test(posts_copy),    cmocka_unit_test(bytes_move),
        cmocka_unit_test(buffers_are_cached), cmocka_unit_test(nothing_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

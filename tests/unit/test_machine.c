/* Tests the machine table: reading, refusing, writing, and the values for which the models ask. Papers are named as in
 * share/doc/MODELS.md. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/machine/machine.h"
#include "tests/unit/scratch.h"

#include <cmocka.h> /* last: it defines fail as a macro */

#define HEAD "name m\nsource s\n"

static void refuses_with_place_and_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "is empty; expected a machine table"},
        {"source s\nself any tau - 1 s\n", ":1: expected a line `name N` before"},
        {"name m\nself any tau - 1 s\n", ":2: expected a line `source ...` before"},
        {"name m\nsource\n", ":2: an empty source"},
        {"name a/b\nsource s\n", ":1: expected `name N`"},
        {"name m\nname n\n", ":2: a second name"},
        {HEAD "source t\n", ":3: a second source"},
        {HEAD, "no values"},
        {HEAD "intra_socket any bw 1 1e9\n", ":3: 5 words"},
        {HEAD "intra_socket any bw 1 1e9 B/s 1 2 3\n", ":3: at least 7 words"},
        {HEAD "intra_socket any bw 1 1e9 B/s #: 1 2 3\n", ":3: 3 words behind '#:'"},
        {HEAD "socket any bw 1 1e9 B/s\n", ":3: level 'socket'"},
        {HEAD "intra_socket fast bw 1 1e9 B/s\n", ":3: protocol 'fast'"},
        {HEAD "intra_socket any bw 1 1e9 GB/s\n", ":3: bw in 'GB/s', expected 'B/s'"},
        {HEAD "intra_socket any bw - 1e9 B/s\n", ":3: bw needs an n from 1 on"},
        {HEAD "intra_socket any bw 0 1e9 B/s\n", ":3: bw needs an n from 1 on"},
        {HEAD "intra_socket any bw -1 1e9 B/s\n", ":3: n '-1' is not a whole number"},
        {HEAD "intra_socket any bw 99999999999999999999 1e9 B/s\n", ":3: n '99999999999999999999' is too large"},
        {HEAD "intra_socket any bw 1 0 B/s\n", ":3: bw of 0, expected a value above 0"},
        {HEAD "intra_socket any bw 1 -1e9 B/s\n", ":3: bw of -1e+09, expected a value above 0"},
        {HEAD "intra_socket any bw 1 nan B/s\n", ":3: value 'nan' is not a finite number"},
        {HEAD "intra_socket any bw 1 1e999 B/s\n", ":3: value '1e999' is too large"},
        {HEAD "intra_socket any tau 2 1e-6 s\n", ":3: tau has no n"},
        {HEAD "intra_socket any tau - -1e-6 s\n", ":3: tau of -1e-06, expected a value not below 0"},
        {HEAD "intra_socket any tau - 1e-6 us\n", ":3: tau in 'us', expected 's'"},
        {HEAD "intra_socket any tau - 1 s\nintra_socket any tau - 1 s\n", "'intra_socket any tau -' appears twice"},
        {HEAD "intra_socket any bw 2 1 B/s #: 3 1 5 x\n", ":3: ci_low 3 is above ci_high 1"},
        {HEAD "intra_socket any tau - 1 s\nintra_socket eager tau - 1 s\n", "'any' and for 'eager'"},
        {HEAD "intra_socket short tau - 1 s\nintra_socket eager tau - 1 s\n", "expected a row 'intra_socket eager thr"},
        {HEAD "intra_socket eager tau - 1 s\nintra_socket eager threshold - 500 B\n"
              "intra_socket rendezvous tau - 1 s\nintra_socket rendezvous threshold - 500 B\n",
         "expected more than that of 'eager'"},
        {HEAD "intra_socket any tau - 1 s\nintra_socket any threshold - 5 B\n", "a threshold for protocol 'any'"},
        {HEAD "intra_socket any overhead_send - -1e-9 s\n",
         ":3: overhead_send of -1e-09, expected a value not below 0"},
        {HEAD "intra_socket any overhead_receive 2 1e-9 s\n", ":3: overhead_receive has no n, expected '-'"},
        {HEAD "intra_socket any overhead_receive - 1e-9 us\n", ":3: overhead_receive in 'us', expected 's'"},
        {HEAD "intra_socket any overhead_send_byte - 1e-9 s\n", ":3: overhead_send_byte in 's', expected 's/B'"},
        {HEAD "inter_node any burst - -1 B\n", ":3: burst of -1, expected a value not below 0"},
        {HEAD "inter_node any burst 1 64e3 B\n", ":3: burst has no n, expected '-'"},
        {HEAD "inter_node any burst - 64 kB\n", ":3: burst in 'kB', expected 'B'"},
        {HEAD "inter_node any backlog - -1 B\n", ":3: backlog of -1, expected a value not below 0"},
        {HEAD "inter_node any backlog_pair 1 64e3 B\n", ":3: backlog_pair has no n, expected '-'"},
        {HEAD "inter_node any backlog - 64 kB\n", ":3: backlog in 'kB', expected 'B'"},
        {HEAD "intra_socket any progress - 4 1\n",
         ":3: progress of 4, expected 0 (neither), 1 (the sender), 2 (the rec"},
        {HEAD "intra_socket any progress - -1 1\n", ":3: progress of -1, expected a value not below 0"},
        {HEAD "intra_socket any progress - 0.5 1\n", ":3: progress of 0.5, expected a whole number"},
        {HEAD "intra_socket eager threshold - 5.5 B\n", ":3: threshold of 5.5, expected a whole number"},
        {HEAD "intra_socket any a_quantity_with_a_very_long_name - 1 s\n", "is longer than 23 letters"},
        {HEAD "intra_socket any future x 1 s\n", ":3: n 'x' is not a whole number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct machine machine = {.n_parameters = 77};
        struct error error = {.text = ""};
        const char *path = scratch_text(cases[i].text);
        assert_int_equal(machine_read(path, &machine, &error), -1);
        if (strstr(error.text, cases[i].reason) == NULL || strncmp(error.text, path, strlen(path)) != 0)
            fail_msg("case %zu: '%s' does not hold '%s'", i, error.text, cases[i].reason);
        assert_int_equal(machine.n_parameters, 77);
    }
    struct machine machine;
    struct error error;
    static const char zero[] = HEAD "intra_socket any \0";
    assert_int_equal(machine_read(scratch_write(zero, sizeof zero), &machine, &error), -1);
    assert_non_null(strstr(error.text, ":3: a zero byte"));
    char *endless = malloc(1u << 20);
    assert_non_null(endless);
    memset(endless, 'x', 1u << 20);
    assert_int_equal(machine_read(scratch_write(endless, 1u << 20), &machine, &error), -1);
    assert_non_null(strstr(error.text, ":1: a line of more than"));
    free(endless);
}

static void reads_and_writes_the_same(void **state)
{
    (void)state;
    static const char text[] = "# comment\r\nname m-1\r\nsource a paper # 3, p. 7\r\n\r\n"
                               "intra_socket any bw 4 17.6e9 B/s # printed\r\n"
                               "inter_node eager tau - 1.25e-06 s #: 1e-6 - 12 relative\r\n"
                               "any any gamma - 8.4e-9 s\r\n"
                               "self any future_thing 3 -0.1 furlong #: - - - -";
    struct machine first, second;
    struct error error = {.text = ""};
    if (machine_read(scratch_text(text), &first, &error) != 0)
        fail_msg("%s", error.text);
    assert_string_equal(first.name, "m-1");
    assert_string_equal(first.source, "a paper # 3, p. 7");
    assert_int_equal(first.n_parameters, 4);
    assert_int_equal(first.parameters[0].n, 4);
    assert_true(first.parameters[0].value == 17.6e9);
    assert_int_equal(first.parameters[1].samples, 12);
    assert_true(isnan(first.parameters[1].ci_high));
    assert_string_equal(first.parameters[1].method, "relative");
    assert_int_equal(first.parameters[2].level, LEVEL_COUNT);

    char *written = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&written, &length);
    assert_non_null(stream);
    assert_int_equal(machine_write(stream, &first), 0);
    fclose(stream);
    if (machine_read(scratch_write(written, length), &second, &error) != 0)
        fail_msg("%s in %s", error.text, written);
    assert_int_equal(second.n_parameters, first.n_parameters);
    for (size_t i = 0; i < first.n_parameters; i++) {
        const struct machine_parameter *a = &first.parameters[i], *b = &second.parameters[i];
        assert_true(a->level == b->level && a->protocol == b->protocol && a->n == b->n && a->value == b->value &&
                    a->samples == b->samples);
        assert_true(strcmp(a->quantity, b->quantity) == 0 && strcmp(a->unit, b->unit) == 0 &&
                    strcmp(a->method, b->method) == 0);
    }
    free(written);
    machine_release(&first);
    machine_release(&second);
}

static void bandwidth_is_linear_between_knots(void **state)
{
    (void)state;
    struct machine machine;
    struct machine_bandwidth bandwidth;
    struct error error = {.text = ""};
    if (machine_read(scratch_text(HEAD "inter_node any bw 4 40 B/s\ninter_node any bw 2 30 B/s\n"), &machine, &error))
        fail_msg("%s", error.text);
    assert_int_equal(machine_bandwidth(&machine, LEVEL_INTER_NODE, PROTOCOL_ANY, &bandwidth, &error), 0);
    static const struct {
        double n, bytes_per_s;
        bool extrapolated;
    } cases[] = {{1, 30, true}, {2, 30, false}, {3, 35, false}, {4, 40, false}, {5, 40, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool extrapolated = false;
        assert_true(machine_bandwidth_at(&bandwidth, cases[i].n, &extrapolated) == cases[i].bytes_per_s);
        assert_int_equal(extrapolated, cases[i].extrapolated);
    }
    machine_bandwidth_release(&bandwidth);
    double tau_s;
    assert_int_equal(machine_tau_s(&machine, LEVEL_INTER_NODE, PROTOCOL_ANY, &tau_s, &error), -1);
    assert_non_null(strstr(error.text, "machine 'm' has no tau for level inter_node"));
    assert_int_equal(machine_bandwidth(&machine, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, &bandwidth, &error), -1);
    assert_non_null(strstr(error.text, "no bw for level intra_socket"));
    machine_release(&machine);
}

static void thresholds_choose_the_protocol(void **state)
{
    (void)state;
    static const char text[] = HEAD "intra_socket rendezvous tau - 3 s\nintra_socket rendezvous threshold - 8000 B\n"
                                    "intra_socket short tau - 1 s\nintra_socket eager tau - 2 s\n"
                                    "intra_socket eager threshold - 500 B\ninter_socket rendezvous tau - 5 s\n"
                                    "inter_socket rendezvous threshold - 100 B\ninter_node any tau - 1 s\n";
    struct machine machine;
    struct machine_protocols none;
    struct error error = {.text = ""};
    if (machine_read(scratch_text(text), &machine, &error) != 0)
        fail_msg("%s", error.text);
    static const struct {
        enum level level;
        uint64_t bytes;
        enum machine_protocol protocol;
    } cases[] = {
        {LEVEL_INTRA_SOCKET, 0, PROTOCOL_SHORT},         {LEVEL_INTRA_SOCKET, 499, PROTOCOL_SHORT},
        {LEVEL_INTRA_SOCKET, 500, PROTOCOL_EAGER},       {LEVEL_INTRA_SOCKET, 7999, PROTOCOL_EAGER},
        {LEVEL_INTRA_SOCKET, 8000, PROTOCOL_RENDEZVOUS}, {LEVEL_INTRA_SOCKET, UINT64_MAX, PROTOCOL_RENDEZVOUS},
        {LEVEL_INTER_SOCKET, 5, PROTOCOL_RENDEZVOUS},    {LEVEL_INTER_NODE, 1u << 30, PROTOCOL_ANY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct machine_protocols protocols;
        assert_int_equal(machine_protocols(&machine, cases[i].level, &protocols, &error), 0);
        assert_int_equal(machine_protocol_of(&protocols, cases[i].bytes), cases[i].protocol);
    }
    assert_int_equal(machine_protocols(&machine, LEVEL_SELF, &none, &error), -1);
    assert_non_null(strstr(error.text, "no values for level self"));
    machine_release(&machine);
}

static void assert_close(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.17g, expected %.17g", value, expected);
}

/* T Table I is as printed: the ends of each line, and what the paper says of them. */
static void shipped_tables_are_those_of_the_paper(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double cores, on_tau_us, on_sp, on_8, on_max, off_tau_us, off_sp, off_8, off_max;
    } cases[] = {
        {"thunderx2", 32, 2.3, 7.5, 32.5, 54.0, 4.4, 6.5, 18.3, 22.7},
        {"kunpeng", 64, 3.8, 5.0, 17.0, 53.7, 5.1, 4.6, 13.3, 49.5},
        {"xeon-gold-6230", 26, 1.6, 10.0, 31.7, 42.7, 2.7, 8.1, 27.5, 29.4},
        {"epyc-rome", 64, 1.7, 10.2, 19.2, 51.0, 2.9, 5.3, 12.2, 30.3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct machine machine;
        struct error error = {.text = ""};
        if (machine_find(cases[i].name, &machine, &error) != 0)
            fail_msg("%s", error.text);
        const double expected[2][4] = {{cases[i].on_tau_us, cases[i].on_sp, cases[i].on_8, cases[i].on_max},
                                       {cases[i].off_tau_us, cases[i].off_sp, cases[i].off_8, cases[i].off_max}};
        for (int j = 0; j < 2; j++) {
            enum level level = j == 0 ? LEVEL_INTRA_SOCKET : LEVEL_INTER_SOCKET;
            struct machine_bandwidth bandwidth;
            double tau_s;
            bool extrapolated = false;
            assert_int_equal(machine_tau_s(&machine, level, PROTOCOL_ANY, &tau_s, &error), 0);
            assert_int_equal(machine_bandwidth(&machine, level, PROTOCOL_ANY, &bandwidth, &error), 0);
            assert_int_equal(bandwidth.n_knots, 6);
            assert_close(tau_s * 1e6, expected[j][0], 1e-14);
            assert_close(machine_bandwidth_at(&bandwidth, 1, &extrapolated) * 1e-9, expected[j][1], 1e-14);
            assert_close(machine_bandwidth_at(&bandwidth, 8, &extrapolated) * 1e-9, expected[j][2], 1e-14);
            assert_close(machine_bandwidth_at(&bandwidth, cases[i].cores, &extrapolated) * 1e-9, expected[j][3], 1e-14);
            assert_false(extrapolated);
            machine_bandwidth_release(&bandwidth);
        }
        machine_release(&machine);
    }
    struct machine machine;
    struct error error;
    assert_int_equal(machine_find("cray-1", &machine, &error), -1);
    assert_non_null(strstr(error.text, "billy, blue-waters, bora, dahu, diablo, epyc-rome, grvingt, henri-subnuma, "
                                       "henri, kunpeng, occigen, pyxis, summit, thunderx2, xeon-gold-6230"));
    assert_int_equal(machine_find("../machines/kunpeng", &machine, &error), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(refuses_with_place_and_reason, scratch_remove),
        cmocka_unit_test_teardown(reads_and_writes_the_same, scratch_remove),
        cmocka_unit_test_teardown(bandwidth_is_linear_between_knots, scratch_remove),
        cmocka_unit_test_teardown(thresholds_choose_the_protocol, scratch_remove),
        cmocka_unit_test(shipped_tables_are_those_of_the_paper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Random cases come from a generator of their own, so that a seed means the same case everywhere. */
#include "tests/models/cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void case_place(struct model_case *c, size_t n_ranks, const uint32_t *node, const uint32_t *socket)
{
    placement_init(&c->placement, n_ranks);
    if (node != NULL)
        memcpy(c->placement.node, node, n_ranks * sizeof *node);
    if (socket != NULL)
        memcpy(c->placement.socket, socket, n_ranks * sizeof *socket);
}

void case_add(struct model_case *c, uint32_t src, uint32_t dst, uint64_t bytes)
{
    pattern_append(&c->pattern, src, dst, bytes);
}

void case_machine(struct model_case *c, const char *shipped)
{
    struct error error = {.text = ""};
    if (machine_find(shipped, &c->machine, &error) != 0)
        fail_msg("%s", error.text);
}

void case_value(struct model_case *c, enum level level, enum machine_protocol protocol, const char *quantity,
                uint64_t n, double value, const char *unit)
{
    struct machine_parameter row = {.level = level,
                                    .protocol = protocol,
                                    .n = n > 0 ? n : MACHINE_NO_N,
                                    .value = value,
                                    .ci_low = NAN,
                                    .ci_high = NAN};
    strcpy(row.quantity, quantity);
    strcpy(row.unit, unit);
    struct error error = {.text = ""};
    if (machine_check_parameter(&row, &error) != 0)
        fail_msg("%s", error.text);
    machine_append(&c->machine, &row);
}

void case_release(struct model_case *c)
{
    pattern_release(&c->pattern);
    placement_release(&c->placement);
    machine_release(&c->machine);
}

struct prediction case_predict(const struct model_case *c, const char *model, enum latency_side side)
{
    struct prediction prediction;
    struct error error = {.text = ""};
    struct model_options options = {.latency = side, .compute_cores = 2}; /* for +memory */
    struct model_choice choice;
    assert_int_equal(model_choose(model, &choice), 0);
    prediction_init(&prediction, c->placement.n_ranks);
    if (model_choice_predict(&choice, &c->pattern, &c->placement, &c->machine, &options, &prediction, &error) != 0)
        fail_msg("%s: %s", model, error.text);
    return prediction;
}

void assert_close(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.17g, expected %.17g", value, expected);
}

void assert_times(const struct model_case *c, const char *model, enum latency_side side, const double *expected_us)
{
    struct prediction prediction = case_predict(c, model, side);
    for (size_t i = 0; i < prediction.n_ranks; i++) {
        assert_close(prediction.time_s[i] * 1e6, expected_us[i], 1e-9);
        assert_close(prediction.part_s[PART_LATENCY][i] + prediction.part_s[PART_BANDWIDTH][i] +
                         prediction.part_s[PART_CONTENTION][i],
                     prediction.time_s[i], 1e-15);
    }
    prediction_release(&prediction);
}

/* Compares the split of what is not latency; 0 means 0, not nearly. */
void assert_split(const struct model_case *c, const char *model, const double *bandwidth_us,
                  const double *contention_us)
{
    struct prediction prediction = case_predict(c, model, LATENCY_IN);
    for (size_t i = 0; i < prediction.n_ranks; i++) {
        assert_close(prediction.part_s[PART_BANDWIDTH][i] * 1e6, bandwidth_us[i], 1e-9);
        assert_close(prediction.part_s[PART_CONTENTION][i] * 1e6, contention_us[i], 1e-8);
    }
    prediction_release(&prediction);
}

uint64_t chance_below(struct chance *chance, uint64_t n)
{
    uint64_t z = chance->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % n;
}

static double chance_real(struct chance *chance, double low, double high)
{
    return low + (high - low) * (double)chance_below(chance, 1u << 20) / (1u << 20);
}

static void random_protocol(struct model_case *c, struct chance *chance, enum level level,
                            enum machine_protocol protocol)
{
    double bytes_per_s = chance_real(chance, 1e9, 1e10);
    case_value(c, level, protocol, "tau", 0, chance_real(chance, 0, 5e-6), "s");
    for (uint64_t n = 1; n <= 16; n *= 2) {
        case_value(c, level, protocol, "bw", n, bytes_per_s, "B/s");
        bytes_per_s *= chance_real(chance, 1, 2);
    }
}

void case_random(struct model_case *c, struct chance *chance, bool protocols)
{
    static const uint64_t sizes[] = {0, 1, 1000, 8000, 65536, 250000};
    size_t n_ranks = 1 + chance_below(chance, 40), n_messages = chance_below(chance, 300);
    *c = (struct model_case){.machine = {.name = "random", .source = "chance"}};
    case_place(c, n_ranks, NULL, NULL);
    for (size_t i = 0; i < n_ranks; i++) {
        c->placement.node[i] = 10 * (uint32_t)chance_below(chance, 3);
        c->placement.socket[i] = (uint32_t)chance_below(chance, 2);
    }
    for (size_t i = 0; i < n_messages; i++) {
        uint64_t bytes = chance_below(chance, 3) == 0 ? sizes[chance_below(chance, 6)] : chance_below(chance, 1000000);
        case_add(c, (uint32_t)chance_below(chance, n_ranks), (uint32_t)chance_below(chance, n_ranks), bytes);
    }
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        if (!protocols) {
            random_protocol(c, chance, level, PROTOCOL_ANY);
            continue;
        }
        double threshold_bytes = 0;
        for (enum machine_protocol p = PROTOCOL_SHORT; p < PROTOCOL_COUNT; p++) {
            random_protocol(c, chance, level, p);
            if (p != PROTOCOL_SHORT)
                case_value(c, level, p, "threshold", 0, threshold_bytes += 1 + (double)chance_below(chance, 100000),
                           "B");
        }
    }
}

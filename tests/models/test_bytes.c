/* No rank is faster than its bytes: what each model lets a rank wait for takes at least as long as it would alone at
 * the best rate of its levels. Random cases with a fixed seed, every model of the table.
 *
 *   in   bytes that a rank receives, between nodes or within its node
 *   out  bytes that it sends and waits for:
 *
 *   postal          in, out: all of each
 *   max-rate        in; it knows no sends
 *   node-aware      out; it knows no receives
 *   staircase(-max) in; out: all to each receiver, which are over when they are delivered
 *   serial          the same, within a node only to receivers that get a message by rendezvous from it
 *   flow            in; out: of each message what is through when all but the buffer is of the largest one, and all at
 *                   the best rate of a copy within a node, if there is a buffer; within a node as the staircase
 *   flow-window     in; out: all at the rate of a copy; within a node as serial
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/models/cases.h"
#include "predictor/pattern/traffic.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { CASES = 400, MOST_RANKS = 40, PARTS = 2 };

enum out { OUT_NOTHING, OUT_ALL, OUT_EACH, OUT_WAITED, OUT_BUFFERED };

struct expected {
    const char *model;
    bool in;
    enum out between, within;
    bool one_clock; /* not both parts need count: they go on at the same time, or in one is sent, in the other received
                     */
    bool shared;    /* between nodes a rank's part of the bandwidth goes by its flows: all of it at best */
};

static const struct expected models[] = {
    {"postal", true, OUT_ALL, OUT_ALL, true, false},
    {"max-rate", true, OUT_NOTHING, OUT_NOTHING, false, true},
    {"node-aware", false, OUT_ALL, OUT_ALL, false, false},
    {"staircase", true, OUT_EACH, OUT_EACH, false, false},
    {"staircase-max", true, OUT_EACH, OUT_EACH, true, false},
    {"serial", true, OUT_EACH, OUT_WAITED, false, false},
    {"flow", true, OUT_BUFFERED, OUT_EACH, false, true},
    {"flow-window", true, OUT_NOTHING, OUT_WAITED, false, true},
};

static const unsigned levels_of[PARTS] = {LEVEL_BIT(LEVEL_INTER_NODE),
                                          LEVEL_BIT(LEVEL_INTRA_SOCKET) | LEVEL_BIT(LEVEL_INTER_SOCKET)};

/* Returns the best that a table gives to one of n ranks, or to all of them together. */
static double best_rate(const struct traffic *traffic, unsigned levels, bool all)
{
    double best = 0;
    for (size_t c = 0; c < traffic->n_classes; c++)
        for (size_t i = 0; traffic_class_in(traffic, c, levels) && i < traffic->classes[c].bandwidth.n_knots; i++) {
            const struct machine_bandwidth *bandwidth = &traffic->classes[c].bandwidth;
            best = fmax(best, bandwidth->bytes_per_s[i] / (all ? 1 : bandwidth->n[i]));
        }
    return best;
}

static bool in_part(const struct traffic *traffic, size_t k, unsigned levels)
{
    return traffic->class_of[k] != NO_CLASS && traffic_class_in(traffic, traffic->class_of[k], levels);
}

/* Returns the bytes from src to dst that are waited for; with `late` only where one of them is a rendezvous. */
static double bytes_to(const struct traffic *traffic, unsigned levels, uint32_t src, uint32_t dst, bool late)
{
    const struct pattern *pattern = traffic->pattern;
    double all = 0, waited = 0;
    for (size_t k = 0; k < pattern->n_messages; k++) {
        if (!in_part(traffic, k, levels) || pattern->src[k] != src || pattern->dst[k] != dst)
            continue;
        all += (double)pattern_bytes(pattern, k);
        if (!traffic_at_once(traffic, k))
            waited += (double)pattern_bytes(pattern, k);
    }
    return !late || waited > 0 ? all : 0;
}

/* Returns what a NIC lets through of a rank's flows until the largest that it waits for is, but for the buffer. */
static double bytes_beside(const struct traffic *traffic, uint32_t src, double buffer)
{
    const struct pattern *pattern = traffic->pattern;
    double largest = 0, sum = 0;
    for (size_t k = 0; k < pattern->n_messages; k++)
        if (in_part(traffic, k, levels_of[0]) && pattern->src[k] == src)
            largest = fmax(largest, (double)pattern_bytes(pattern, k) - buffer);
    for (size_t k = 0; k < pattern->n_messages; k++)
        if (in_part(traffic, k, levels_of[0]) && pattern->src[k] == src)
            sum += fmin((double)pattern_bytes(pattern, k), largest);
    return sum;
}

static double out_bytes(const struct traffic *traffic, enum out out, unsigned levels, uint32_t rank, double buffer)
{
    double most = 0;
    if (out == OUT_NOTHING)
        return 0;
    if (out == OUT_ALL)
        return traffic_bytes(traffic, rank, OUTGOING, levels);
    if (out == OUT_BUFFERED)
        return bytes_beside(traffic, rank, buffer);
    for (uint32_t dst = 0; dst < traffic->n_ranks; dst++)
        most = fmax(most, bytes_to(traffic, levels, rank, dst, out == OUT_WAITED));
    return most;
}

/* Returns what copies into buffers take at least: V over the best BW(1) within nodes. */
static double copies_s(const struct model_case *c, const struct traffic *traffic, uint32_t rank)
{
    double best = 0;
    for (size_t i = 0; i < c->machine.n_parameters; i++) {
        const struct machine_parameter *row = &c->machine.parameters[i];
        if (row->level != LEVEL_INTER_NODE && row->n == 1 && strcmp(row->quantity, "bw") == 0)
            best = fmax(best, row->value);
    }
    return traffic_bytes(traffic, rank, OUTGOING, levels_of[0]) / best;
}

static void check_model(const struct model_case *c, const struct traffic *traffic, const struct expected *expected,
                        double buffer)
{
    struct prediction prediction = case_predict(c, expected->model, LATENCY_IN);
    for (uint32_t rank = 0; rank < c->placement.n_ranks; rank++) {
        double least_s = 0;
        for (int part = 0; part < PARTS; part++) {
            unsigned levels = levels_of[part];
            double in = expected->in ? traffic_bytes(traffic, rank, INCOMING, levels) : 0;
            double out = out_bytes(traffic, part == 0 ? expected->between : expected->within, levels, rank, buffer);
            double rate = best_rate(traffic, levels, expected->shared && part == 0);
            double part_s = fmax(in, out) > 0 ? fmax(in, out) / rate : 0;
            bool window = strcmp(expected->model, "flow-window") == 0;
            if (part == 0 && (window || (expected->between == OUT_BUFFERED && buffer > 0)))
                part_s = fmax(part_s, copies_s(c, traffic, rank));
            least_s = expected->one_clock ? fmax(least_s, part_s) : least_s + part_s;
        }
        if (!(prediction.time_s[rank] >= least_s * (1 - 1e-9)))
            fail_msg("%s: rank %u: %.9g s, its bytes take %.9g s", expected->model, rank, prediction.time_s[rank],
                     least_s);
    }
    prediction_release(&prediction);
}

static void no_rank_is_faster_than_its_bytes(void **state)
{
    (void)state;
    struct chance chance = {.state = 11};
    for (int i = 0; i < CASES; i++) {
        struct model_case c;
        struct traffic traffic;
        struct error error;
        double buffer = i % 3 == 0 ? 0 : (double)chance_below(&chance, 200000);
        case_random(&c, &chance, i % 2 == 1);
        case_value(&c, LEVEL_INTER_NODE, PROTOCOL_ANY, "buffer", 0, buffer, "B");
        assert_int_equal(traffic_init(&traffic, &c.pattern, &c.placement, &c.machine, 1, &error), 0);
        for (size_t m = 0; model_table[m] != NULL; m++)
            assert_string_equal(model_table[m]->name,
                                models[m].model); /* a new model says what it lets ranks wait for */
        for (size_t m = 0; m < sizeof models / sizeof models[0]; m++)
            check_model(&c, &traffic, &models[m], buffer);
        traffic_release(&traffic);
        case_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_rank_is_faster_than_its_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

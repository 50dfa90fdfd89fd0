/* Passes twice over the messages: first to see which classes occur, then to form the sums. So a machine without
 * inter-node values serves every pattern without inter-node messages, and classes are numbered by level and protocol
 * whatever the order of the messages. */
#include "predictor/pattern/traffic.h"

#include <stdlib.h>

#include "share/base/memory.h"

static size_t raw_class(enum level level, enum machine_protocol protocol)
{
    return (size_t)level * PROTOCOL_COUNT + (size_t)protocol;
}

/* Finds class_of by raw_class; used[raw] says which occur. */
static int classify(struct traffic *traffic, const struct placement *placement, const struct machine *machine,
                    bool used[LEVEL_COUNT * PROTOCOL_COUNT], struct error *error)
{
    const struct pattern *pattern = traffic->pattern;
    struct machine_protocols protocols[LEVEL_COUNT] = {0};
    for (size_t i = 0; i < pattern->n_messages; i++) {
        enum level level = placement_level(placement, pattern->src[i], pattern->dst[i]);
        if (level == LEVEL_SELF) {
            traffic->class_of[i] = NO_CLASS;
            continue;
        }
        if (protocols[level].n == 0 && machine_protocols(machine, level, &protocols[level], error) != 0)
            return -1;
        size_t raw = raw_class(level, machine_protocol_of(&protocols[level], pattern_bytes(pattern, i)));
        traffic->class_of[i] = (uint8_t)raw;
        used[raw] = true;
    }
    return 0;
}

static int load_class(struct traffic *traffic, const struct machine *machine, enum level level,
                      enum machine_protocol protocol, struct error *error)
{
    struct message_class *class = &traffic->classes[traffic->n_classes];
    *class = (struct message_class){.level = level, .protocol = protocol};
    if (machine_tau_s(machine, level, protocol, &class->tau_s, error) != 0 ||
        machine_bandwidth(machine, level, protocol, &class->bandwidth, error) != 0)
        return -1;
    traffic->n_classes++;
    return 0;
}

static void sum_up(struct traffic *traffic, const uint8_t class_of_raw[LEVEL_COUNT * PROTOCOL_COUNT])
{
    const struct pattern *pattern = traffic->pattern;
    for (size_t i = 0; i < pattern->n_messages; i++) {
        if (traffic->class_of[i] == NO_CLASS)
            continue;
        size_t class = class_of_raw[traffic->class_of[i]];
        traffic->class_of[i] = (uint8_t) class;
        size_t in = pattern->dst[i] * traffic->n_classes + class, out = pattern->src[i] * traffic->n_classes + class;
        traffic->messages[INCOMING][in]++;
        traffic->messages[OUTGOING][out]++;
        traffic->bytes[INCOMING][in] += (double)pattern_bytes(pattern, i);
        traffic->bytes[OUTGOING][out] += (double)pattern_bytes(pattern, i);
    }
}

int traffic_init(struct traffic *traffic, const struct pattern *pattern, const struct placement *placement,
                 const struct machine *machine, struct error *error)
{
    bool used[LEVEL_COUNT * PROTOCOL_COUNT] = {false};
    uint8_t class_of_raw[LEVEL_COUNT * PROTOCOL_COUNT] = {0};
    *traffic = (struct traffic){.pattern = pattern, .n_ranks = placement->n_ranks};
    traffic->class_of = xmalloc(pattern->n_messages + 1);
    if (classify(traffic, placement, machine, used, error) != 0)
        goto failed;
    for (int level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        for (int protocol = 0; protocol < PROTOCOL_COUNT; protocol++) {
            size_t raw = raw_class((enum level)level, (enum machine_protocol)protocol);
            if (!used[raw])
                continue;
            class_of_raw[raw] = (uint8_t)traffic->n_classes;
            if (load_class(traffic, machine, (enum level)level, (enum machine_protocol)protocol, error) != 0)
                goto failed;
        }
    }
    for (int direction = 0; direction < DIRECTION_COUNT; direction++) {
        size_t n = traffic->n_ranks * traffic->n_classes + 1;
        traffic->messages[direction] = xcalloc(n, sizeof *traffic->messages[direction]);
        traffic->bytes[direction] = xcalloc(n, sizeof *traffic->bytes[direction]);
    }
    sum_up(traffic, class_of_raw);
    return 0;
failed:
    traffic_release(traffic);
    return -1;
}

void traffic_release(struct traffic *traffic)
{
    for (size_t i = 0; i < traffic->n_classes; i++)
        machine_bandwidth_release(&traffic->classes[i].bandwidth);
    for (int direction = 0; direction < DIRECTION_COUNT; direction++) {
        FREE_ALL(traffic->messages[direction], traffic->bytes[direction]);
    }
    free(traffic->class_of);
    *traffic = (struct traffic){0};
}

double traffic_latency_s(const struct traffic *traffic, size_t rank, enum direction direction, unsigned levels)
{
    double sum_s = 0;
    for (size_t c = 0; c < traffic->n_classes; c++)
        if (traffic_class_in(traffic, c, levels))
            sum_s += (double)traffic->messages[direction][rank * traffic->n_classes + c] * traffic->classes[c].tau_s;
    return sum_s;
}

double traffic_bytes(const struct traffic *traffic, size_t rank, enum direction direction, unsigned levels)
{
    double sum = 0;
    for (size_t c = 0; c < traffic->n_classes; c++)
        if (traffic_class_in(traffic, c, levels))
            sum += traffic->bytes[direction][rank * traffic->n_classes + c];
    return sum;
}

double traffic_transfer_s(const struct traffic *traffic, size_t rank, enum direction direction, unsigned levels,
                          const double bytes_per_s[MAX_CLASSES])
{
    double sum_s = 0;
    for (size_t c = 0; c < traffic->n_classes; c++)
        if (traffic_class_in(traffic, c, levels))
            sum_s += traffic->bytes[direction][rank * traffic->n_classes + c] / bytes_per_s[c];
    return sum_s;
}

size_t traffic_single_bandwidth(const struct traffic *traffic, double bytes_per_s[MAX_CLASSES])
{
    size_t n_extrapolated = 0;
    for (size_t c = 0; c < traffic->n_classes; c++) {
        bool extrapolated = false;
        double bytes = 0;
        bytes_per_s[c] = machine_bandwidth_at(&traffic->classes[c].bandwidth, 1, &extrapolated);
        for (size_t rank = 0; rank < traffic->n_ranks; rank++)
            bytes += traffic->bytes[INCOMING][rank * traffic->n_classes + c];
        n_extrapolated += extrapolated && bytes > 0;
    }
    return n_extrapolated;
}

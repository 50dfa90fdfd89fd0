/* Passes over the messages to see which classes occur, to number them, then to form the sums. So a machine without
 * inter-node values serves every pattern without inter-node messages, and classes are numbered by level and protocol
 * whatever the order of the messages. Threads share the first two by ranges of messages, the sums by direction: each is
 * formed in the order of the messages, whatever the number of threads. */
#include "predictor/pattern/traffic.h"

#include <stdlib.h>

#include "share/base/memory.h"
#include "share/base/side_by_side.h"

static size_t raw_class(enum level level, enum machine_protocol protocol)
{
    return (size_t)level * PROTOCOL_COUNT + (size_t)protocol;
}

enum { RAW_CLASSES = LEVEL_COUNT * PROTOCOL_COUNT, RANGES = 16 };

/* Holds what the passes over ranges of messages share. */
struct classifying {
    struct traffic *traffic;
    const struct placement *placement;
    const struct machine *machine;
    bool used[RANGES][RAW_CLASSES]; /* by the messages of a range */
    uint8_t class_of_raw[RAW_CLASSES];
};

static size_t range_begin(const struct classifying *classifying, size_t range)
{
    return classifying->traffic->pattern->n_messages * range / RANGES; /* there are less than 2^31 */
}

/* Finds class_of by raw_class of a range. */
static int classify(void *context, size_t range, struct error *error)
{
    struct classifying *classifying = context;
    struct traffic *traffic = classifying->traffic;
    const struct pattern *pattern = traffic->pattern;
    struct machine_protocols protocols[LEVEL_COUNT] = {0};
    for (size_t i = range_begin(classifying, range); i < range_begin(classifying, range + 1); i++) {
        enum level level = placement_level(classifying->placement, pattern->src[i], pattern->dst[i]);
        if (level == LEVEL_SELF) {
            traffic->class_of[i] = NO_CLASS;
            continue;
        }
        if (protocols[level].n == 0 && machine_protocols(classifying->machine, level, &protocols[level], error) != 0)
            return -1;
        size_t raw = raw_class(level, machine_protocol_of(&protocols[level], pattern_bytes(pattern, i)));
        traffic->class_of[i] = (uint8_t)raw;
        classifying->used[range][raw] = true;
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

/* Finds the classes that occur, and loads them. */
static int number_classes(struct classifying *classifying, struct error *error)
{
    for (int level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        for (int protocol = 0; protocol < PROTOCOL_COUNT; protocol++) {
            size_t raw = raw_class((enum level)level, (enum machine_protocol)protocol);
            bool used = false;
            for (size_t range = 0; range < RANGES; range++)
                used = used || classifying->used[range][raw];
            if (!used)
                continue;
            classifying->class_of_raw[raw] = (uint8_t)classifying->traffic->n_classes;
            if (load_class(classifying->traffic, classifying->machine, (enum level)level,
                           (enum machine_protocol)protocol, error) != 0)
                return -1;
        }
    }
    return 0;
}

static int renumber(void *context, size_t range, struct error *error)
{
    (void)error;
    struct classifying *classifying = context;
    uint8_t *class_of = classifying->traffic->class_of;
    for (size_t i = range_begin(classifying, range); i < range_begin(classifying, range + 1); i++)
        if (class_of[i] != NO_CLASS)
            class_of[i] = classifying->class_of_raw[class_of[i]];
    return 0;
}

static int sum_up(void *context, size_t direction, struct error *error)
{
    (void)error;
    struct traffic *traffic = ((struct classifying *)context)->traffic;
    const struct pattern *pattern = traffic->pattern;
    const uint32_t *end = direction == OUTGOING ? pattern->src : pattern->dst;
    size_t n_classes = traffic->n_classes;
    uint64_t *messages = xcalloc(traffic->n_ranks * n_classes + 1, sizeof *messages);
    double *bytes = xcalloc(traffic->n_ranks * n_classes + 1, sizeof *bytes);
    for (size_t i = 0; i < pattern->n_messages; i++) {
        if (traffic->class_of[i] == NO_CLASS)
            continue;
        size_t at = end[i] * n_classes + traffic->class_of[i];
        messages[at]++;
        bytes[at] += (double)pattern_bytes(pattern, i);
    }
    traffic->messages[direction] = messages;
    traffic->bytes[direction] = bytes;
    return 0;
}

int traffic_init(struct traffic *traffic, const struct pattern *pattern, const struct placement *placement,
                 const struct machine *machine, size_t n_threads, struct error *error)
{
    struct classifying classifying = {.traffic = traffic, .placement = placement, .machine = machine};
    *traffic = (struct traffic){.pattern = pattern, .n_ranks = placement->n_ranks};
    traffic->class_of = xmalloc(pattern->n_messages + 1);
    if (side_by_side(RANGES, n_threads, classify, &classifying, error) != 0 ||
        number_classes(&classifying, error) != 0) {
        traffic_release(traffic);
        return -1;
    }
    side_by_side(RANGES, n_threads, renumber, &classifying, NULL);
    side_by_side(DIRECTION_COUNT, n_threads, sum_up, &classifying, NULL);
    return 0;
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

/* Two steps, both linear: messages are counted into their groups, then each group is sorted by the digits of its sizes,
 * lowest first (LSD radix sort, stable), those digits left out in which all sizes of the group agree. A group of some
 * hundred messages stays in the first cache meanwhile; glibc's qsort takes 7 to 10 times as long for them, for its
 * comparisons through a pointer. Short groups are sorted by insertion. */
#include "size_order.h"

#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 8, DIGIT_VALUES = 1 << DIGIT_BITS, SHORT_GROUP = 48 };

/* A group while it is sorted. */
struct run {
    uint64_t *bytes;
    uint32_t *message;
};

static void sort_short(struct run run, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t bytes = run.bytes[i];
        uint32_t message = run.message[i];
        size_t at = i;
        for (; at > 0 && run.bytes[at - 1] > bytes; at--) {
            run.bytes[at] = run.bytes[at - 1];
            run.message[at] = run.message[at - 1];
        }
        run.bytes[at] = bytes;
        run.message[at] = message;
    }
}

static void distribute(struct run from, struct run to, size_t n, unsigned shift)
{
    size_t place[DIGIT_VALUES] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++)
        place[from.bytes[i] >> shift & (DIGIT_VALUES - 1)]++;
    for (size_t digit = 0; digit < DIGIT_VALUES; digit++) {
        size_t count = place[digit];
        place[digit] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = place[from.bytes[i] >> shift & (DIGIT_VALUES - 1)]++;
        to.bytes[at] = from.bytes[i];
        to.message[at] = from.message[i];
    }
}

/* spare: room for n. */
static void sort_run(struct run run, size_t n, struct run spare)
{
    if (n <= SHORT_GROUP) {
        sort_short(run, n);
        return;
    }
    uint64_t differs = 0;
    for (size_t i = 1; i < n; i++)
        differs |= run.bytes[i] ^ run.bytes[0];
    struct run from = run, to = spare;
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if ((differs >> shift & (DIGIT_VALUES - 1)) == 0)
            continue;
        distribute(from, to, n, shift);
        struct run swap = from;
        from = to;
        to = swap;
    }
    if (from.bytes != run.bytes) {
        memcpy(run.bytes, from.bytes, n * sizeof *run.bytes);
        memcpy(run.message, from.message, n * sizeof *run.message);
    }
}

size_t size_order_largest(const struct size_order *order)
{
    size_t largest = 0;
    for (size_t g = 0; g < order->n_groups; g++)
        if (order->first[g + 1] - order->first[g] > largest)
            largest = order->first[g + 1] - order->first[g];
    return largest;
}

static int sort_groups(struct size_order *order)
{
    size_t largest = size_order_largest(order);
    struct run spare = {.bytes = malloc((largest + 1) * sizeof *spare.bytes),
                        .message = malloc((largest + 1) * sizeof *spare.message)};
    int result = spare.bytes != NULL && spare.message != NULL ? 0 : -1;
    for (size_t g = 0; result == 0 && g < order->n_groups; g++) {
        size_t begin = order->first[g];
        struct run run = {order->bytes + begin, order->message + begin};
        sort_run(run, order->first[g + 1] - begin, spare);
    }
    free(spare.bytes);
    free(spare.message);
    return result;
}

int size_order_init(struct size_order *order, const struct traffic *traffic, unsigned levels, enum direction direction,
                    const uint32_t *group_of, size_t n_groups)
{
    const struct pattern *pattern = traffic->pattern;
    const uint32_t *end = direction == OUTGOING ? pattern->src : pattern->dst;
    bool taken[NO_CLASS + 1] = {false};
    for (size_t c = 0; c < traffic->n_classes; c++)
        taken[c] = traffic_class_in(traffic, c, levels);
    /* first is shifted by one group while the groups are filled. */
    *order = (struct size_order){.n_groups = n_groups, .first = calloc(n_groups + 2, sizeof *order->first)};
    if (order->first == NULL)
        return -1;
    for (size_t rank = 0; rank < traffic->n_ranks; rank++)
        for (size_t c = 0; c < traffic->n_classes; c++)
            if (taken[c])
                order->first[(group_of != NULL ? group_of[rank] : rank) + 2] +=
                    traffic->messages[direction][rank * traffic->n_classes + c];
    for (size_t g = 0; g < n_groups; g++)
        order->first[g + 2] += order->first[g + 1];
    size_t n = order->first[n_groups + 1];
    order->bytes = malloc((n + 1) * sizeof *order->bytes);
    order->message = malloc((n + 1) * sizeof *order->message);
    if (order->bytes == NULL || order->message == NULL) {
        size_order_release(order);
        return -1;
    }
    for (size_t i = 0; i < pattern->n_messages; i++) {
        if (!taken[traffic->class_of[i]])
            continue;
        size_t at = order->first[(group_of != NULL ? group_of[end[i]] : end[i]) + 1]++;
        order->bytes[at] = pattern->bytes[i];
        order->message[at] = (uint32_t)i;
    }
    if (sort_groups(order) == 0)
        return 0;
    size_order_release(order);
    return -1;
}

void size_order_release(struct size_order *order)
{
    free(order->first);
    free(order->bytes);
    free(order->message);
    *order = (struct size_order){0};
}

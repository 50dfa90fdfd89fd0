/* Sorts in two steps, both linear: messages are counted into their groups, then each group is sorted by the digits of
 * its sizes. A group of some hundred messages stays in the first cache meanwhile. Digits that all keys share are
 * skipped, and short runs are sorted by insertion. */
#include "predictor/pattern/size_order.h"

#include <string.h>

#include "share/base/memory.h"
#include "share/base/side_by_side.h"

enum { DIGIT_BITS = 8, DIGIT_VALUES = 1 << DIGIT_BITS, SHORT_RUN = 48 };

static void sort_short(struct radix_run run, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t key = run.key[i];
        uint32_t id = run.id[i];
        size_t at = i;
        for (; at > 0 && run.key[at - 1] > key; at--) {
            run.key[at] = run.key[at - 1];
            run.id[at] = run.id[at - 1];
        }
        run.key[at] = key;
        run.id[at] = id;
    }
}

static void distribute(struct radix_run from, struct radix_run to, size_t n, unsigned shift)
{
    size_t place[DIGIT_VALUES] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++)
        place[from.key[i] >> shift & (DIGIT_VALUES - 1)]++;
    for (size_t digit = 0; digit < DIGIT_VALUES; digit++) {
        size_t count = place[digit];
        place[digit] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = place[from.key[i] >> shift & (DIGIT_VALUES - 1)]++;
        to.key[at] = from.key[i];
        to.id[at] = from.id[i];
    }
}

void radix_sort(struct radix_run run, size_t n, struct radix_run spare)
{
    if (n <= SHORT_RUN) {
        sort_short(run, n);
        return;
    }
    uint64_t differs = 0;
    for (size_t i = 1; i < n; i++)
        differs |= run.key[i] ^ run.key[0];
    struct radix_run from = run, to = spare;
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if ((differs >> shift & (DIGIT_VALUES - 1)) == 0)
            continue;
        distribute(from, to, n, shift);
        struct radix_run swap = from;
        from = to;
        to = swap;
    }
    if (from.key != run.key) {
        memcpy(run.key, from.key, n * sizeof *run.key);
        memcpy(run.id, from.id, n * sizeof *run.id);
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

enum { SORT_RANGES = 16 };

struct sorting {
    const struct size_order *order;
    const struct pattern *pattern;
};

/* Returns the first group that begins at or behind that share of the messages. */
static size_t first_group(const struct size_order *order, size_t range)
{
    size_t wanted = order->first[order->n_groups] / SORT_RANGES * range, low = 0, high = order->n_groups;
    while (range < SORT_RANGES && low < high) {
        size_t middle = low + (high - low) / 2;
        if (order->first[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return range < SORT_RANGES ? low : order->n_groups;
}

static int sort_groups(void *context, size_t range, struct error *error)
{
    (void)error;
    const struct size_order *order = ((struct sorting *)context)->order;
    const struct pattern *pattern = ((struct sorting *)context)->pattern;
    size_t largest = size_order_largest(order) + 1;
    struct radix_run run = {.key = xmalloc(2 * largest * sizeof *run.key)};
    struct radix_run spare = {.key = run.key + largest, .id = xmalloc(largest * sizeof *spare.id)};
    for (size_t g = first_group(order, range); g < first_group(order, range + 1); g++) {
        size_t begin = order->first[g], n = order->first[g + 1] - begin;
        run.id = order->message + begin;
        for (size_t i = 0; i < n; i++)
            run.key[i] = pattern_bytes(pattern, run.id[i]);
        radix_sort(run, n, spare);
    }
    FREE_ALL(run.key, spare.id);
    return 0;
}

void size_order_init(struct size_order *order, const struct traffic *traffic, unsigned levels, enum direction direction,
                     const uint32_t *group_of, size_t n_groups, size_t n_threads)
{
    const struct pattern *pattern = traffic->pattern;
    const uint32_t *end = direction == OUTGOING ? pattern->src : pattern->dst;
    bool taken[NO_CLASS + 1] = {false};
    for (size_t c = 0; c < traffic->n_classes; c++)
        taken[c] = traffic_class_in(traffic, c, levels);
    /* first is shifted by one group while the groups are filled. */
    *order = (struct size_order){.n_groups = n_groups, .first = xcalloc(n_groups + 2, sizeof *order->first)};
    for (size_t rank = 0; rank < traffic->n_ranks; rank++)
        for (size_t c = 0; c < traffic->n_classes; c++)
            if (taken[c])
                order->first[(group_of != NULL ? group_of[rank] : rank) + 2] +=
                    traffic->messages[direction][rank * traffic->n_classes + c];
    for (size_t g = 0; g < n_groups; g++)
        order->first[g + 2] += order->first[g + 1];
    size_t n = order->first[n_groups + 1];
    order->message = xmalloc((n + 1) * sizeof *order->message);
    for (size_t i = 0; i < pattern->n_messages; i++) {
        if (!taken[traffic->class_of[i]])
            continue;
        size_t at = order->first[(group_of != NULL ? group_of[end[i]] : end[i]) + 1]++;
        order->message[at] = (uint32_t)i;
    }
    side_by_side(SORT_RANGES, n_threads, sort_groups, &(struct sorting){order, pattern}, NULL);
}

void size_order_release(struct size_order *order)
{
    FREE_ALL(order->first, order->message);
    *order = (struct size_order){0};
}

/* Sorts in two steps, both linear: messages are counted into their groups, then each group is sorted by the digits of
 * its sizes (radix_sort.h). A group of some hundred messages stays in the first cache meanwhile. */
#include "predictor/pattern/size_order.h"

#include <stdlib.h>

#include "predictor/pattern/radix_sort.h"
#include "share/base/memory.h"

size_t size_order_largest(const struct size_order *order)
{
    size_t largest = 0;
    for (size_t g = 0; g < order->n_groups; g++)
        if (order->first[g + 1] - order->first[g] > largest)
            largest = order->first[g + 1] - order->first[g];
    return largest;
}

static void sort_groups(struct size_order *order)
{
    size_t largest = size_order_largest(order);
    struct radix_run spare = {.key = xmalloc((largest + 1) * sizeof *spare.key),
                              .id = xmalloc((largest + 1) * sizeof *spare.id)};
    for (size_t g = 0; g < order->n_groups; g++) {
        size_t begin = order->first[g];
        struct radix_run run = {order->bytes + begin, order->message + begin};
        radix_sort(run, order->first[g + 1] - begin, spare);
    }
    free(spare.key);
    free(spare.id);
}

void size_order_init(struct size_order *order, const struct traffic *traffic, unsigned levels, enum direction direction,
                     const uint32_t *group_of, size_t n_groups)
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
    order->bytes = xmalloc((n + 1) * sizeof *order->bytes);
    order->message = xmalloc((n + 1) * sizeof *order->message);
    for (size_t i = 0; i < pattern->n_messages; i++) {
        if (!taken[traffic->class_of[i]])
            continue;
        size_t at = order->first[(group_of != NULL ? group_of[end[i]] : end[i]) + 1]++;
        order->bytes[at] = pattern->bytes[i];
        order->message[at] = (uint32_t)i;
    }
    sort_groups(order);
}

void size_order_release(struct size_order *order)
{
    free(order->first);
    free(order->bytes);
    free(order->message);
    *order = (struct size_order){0};
}

/* When each message is delivered: the messages are put together by receiver, then sorted by size. Symbols: staircase.c.
 */
#include <stdlib.h>

#include "staircase.h"

struct incoming {
    uint64_t bytes;
    uint32_t src;
    uint32_t message;
};

static int compare_bytes(const void *a, const void *b)
{
    const struct incoming *x = a, *y = b;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static bool takes_part(const struct traffic *traffic, size_t message, unsigned levels)
{
    uint8_t class = traffic->class_of[message];
    return class != NO_CLASS && traffic_class_in(traffic, class, levels);
}

/* The deliveries of one receiver's messages, to their senders. */
static void deliver(struct incoming *messages, size_t n, uint32_t receiver, double recv_s, struct critical *sends)
{
    double volume = 0; /* V_i */
    qsort(messages, n, sizeof *messages, compare_bytes);
    for (size_t j = 0; j < n; j++)
        volume += (double)messages[j].bytes;
    if (!(volume > 0))
        return;
    double delivered_s = 0;
    uint64_t before = 0; /* s_{i,j-1} */
    for (size_t j = 0; j < n; j++) {
        /* T9: t_j = t_{j-1} + (M_i - j) (s_j - s_{j-1}) / V_i t_i^recv. */
        delivered_s += (double)(n - j) * (double)(messages[j].bytes - before) / volume * recv_s;
        before = messages[j].bytes;
        critical_take(&sends[messages[j].src], &(struct critical){.at_s = delivered_s,
                                                                  .bytes = (double)messages[j].bytes,
                                                                  .message = messages[j].message,
                                                                  .way = receiver});
    }
}

int staircase_delivery(const struct traffic *traffic, unsigned levels, const double *recv_s, struct critical *sends)
{
    const struct pattern *pattern = traffic->pattern;
    size_t *first = calloc(traffic->n_ranks + 2, sizeof *first); /* of a receiver, shifted by one while filling */
    if (first == NULL)
        return -1;
    for (size_t rank = 0; rank < traffic->n_ranks; rank++)
        for (size_t c = 0; c < traffic->n_classes; c++)
            if (traffic_class_in(traffic, c, levels))
                first[rank + 2] += traffic->messages[INCOMING][rank * traffic->n_classes + c];
    for (size_t rank = 0; rank < traffic->n_ranks; rank++)
        first[rank + 2] += first[rank + 1];
    struct incoming *messages = malloc((first[traffic->n_ranks + 1] + 1) * sizeof *messages);
    if (messages == NULL) {
        free(first);
        return -1;
    }
    for (size_t i = 0; i < pattern->n_messages; i++)
        if (takes_part(traffic, i, levels))
            messages[first[pattern->dst[i] + 1]++] =
                (struct incoming){.bytes = pattern->bytes[i], .src = pattern->src[i], .message = (uint32_t)i};
    for (size_t rank = 0; rank < traffic->n_ranks; rank++)
        sends[rank] = (struct critical){0};
    for (size_t rank = 0; rank < traffic->n_ranks; rank++)
        deliver(messages + first[rank], first[rank + 1] - first[rank], (uint32_t)rank, recv_s[rank], sends);
    free(messages);
    free(first);
    return 0;
}

/* Joins messages to one partner: they are sorted by their two ends, and runs of equal ends are added up. */
#include "predictor/what_if/workload.h"

#include <stdlib.h>

struct ends {
    uint32_t src, dst;
    size_t message;
};

static int compare_ends(const void *a, const void *b)
{
    const struct ends *x = a, *y = b;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    return (x->message > y->message) - (x->message < y->message);
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* Appends the message that ends[begin] to ends[end - 1] form together. */
static int append_sum(const struct pattern *from, const struct ends *ends, size_t begin, size_t end, struct pattern *to,
                      struct error *error)
{
    uint64_t bytes = 0;
    uint32_t match = from->match != NULL ? from->match[ends[begin].message] : 0;
    double send_s = 0, recv_s = 0;
    for (size_t i = begin; i < end; i++) {
        size_t k = ends[i].message;
        if (__builtin_add_overflow(bytes, from->bytes[k], &bytes))
            return error_set(error, "the messages to one partner have more than 2^64 bytes together");
        if (from->match != NULL)
            match |= from->match[k] & 1u;
        if (from->send_s != NULL)
            send_s = i == begin ? from->send_s[k] : later(send_s, from->send_s[k]);
        if (from->recv_s != NULL)
            recv_s = i == begin ? from->recv_s[k] : later(recv_s, from->recv_s[k]);
    }
    if (pattern_append(to, ends[begin].src, ends[begin].dst, bytes) != 0 ||
        pattern_set_posts(to, from->send_s != NULL ? &send_s : NULL, from->recv_s != NULL ? &recv_s : NULL) != 0 ||
        (from->match != NULL && pattern_set_match(to, match / 2, (match & 1u) != 0) != 0))
        return error_set(error, "no memory for %zu messages", from->n_messages);
    return 0;
}

/* Keeps what connections did before; a connection's messages rested alike. */
static int keep_rests(const struct pattern *from, const struct ends *ends, struct pattern *to, struct error *error)
{
    to->carried_before = from->carried_before;
    to->carried_between = from->carried_between;
    if (from->rest_s == NULL)
        return 0;
    to->rest_s = malloc((to->n_messages + 1) * sizeof *to->rest_s);
    if (to->rest_s == NULL)
        return error_set(error, "no memory for %zu messages", to->n_messages);
    for (size_t i = 0, k = 0; i < from->n_messages; i++) {
        k += i > 0 && (ends[i].src != ends[i - 1].src || ends[i].dst != ends[i - 1].dst);
        to->rest_s[k] = from->rest_s[ends[i].message];
    }
    return 0;
}

static int aggregate_pattern(struct pattern *pattern, struct error *error)
{
    struct pattern sums = {0};
    size_t n = pattern->n_messages;
    struct ends *ends = malloc((n + 1) * sizeof *ends);
    int result = ends != NULL ? 0 : error_set(error, "no memory for %zu messages", n);
    for (size_t k = 0; result == 0 && k < n; k++)
        ends[k] = (struct ends){pattern->src[k], pattern->dst[k], k};
    if (result == 0)
        qsort(ends, n, sizeof *ends, compare_ends);
    for (size_t begin = 0, end; result == 0 && begin < n; begin = end) {
        for (end = begin + 1; end < n && ends[end].src == ends[begin].src && ends[end].dst == ends[begin].dst;)
            end++;
        result = append_sum(pattern, ends, begin, end, &sums, error);
    }
    if (result == 0)
        result = keep_rests(pattern, ends, &sums, error);
    free(ends);
    if (result == 0) {
        pattern_release(pattern);
        *pattern = sums;
    } else {
        pattern_release(&sums);
    }
    return result;
}

int workload_aggregate(struct workload *workload, struct error *error)
{
    for (size_t k = 0; k < workload->n_kinds; k++)
        if (aggregate_pattern(&workload->kinds[k].pattern, error) != 0)
            return -1;
    return 0;
}

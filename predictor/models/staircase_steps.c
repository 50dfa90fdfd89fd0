/* Computes t_i^recv, when each rank of a group has received its bytes, from the rate of each, and when each message is
 * delivered. staircase.c has the symbols. Papers are named as in share/doc/MODELS.md. */
#include "predictor/models/staircase_steps.h"

#include <stdlib.h>

#include "predictor/pattern/size_order.h"
#include "share/base/memory.h"

/* Is a share of a rank's volume: a rank with no more left at the end of a step finishes with it (share/doc/MODELS.md,
 * staircase, levels of a node mixed, rule 3). */
static const double FINISHED = 1e-12;

void bandwidth_steps_init(struct bandwidth_steps *steps, const struct traffic *traffic, size_t n_max)
{
    size_t size = traffic->n_classes * (n_max + 1) + 1;
    *steps = (struct bandwidth_steps){.n_max = n_max,
                                      .n_classes = traffic->n_classes,
                                      .bytes_per_s = xcalloc(size, sizeof *steps->bytes_per_s),
                                      .outside = xcalloc(size, sizeof *steps->outside),
                                      .used = xcalloc(size, sizeof *steps->used)};
    for (size_t c = 0; c < traffic->n_classes; c++)
        for (size_t n = 1; n <= n_max; n++)
            steps->bytes_per_s[c * (n_max + 1) + n] =
                machine_bandwidth_at(&traffic->classes[c].bandwidth, (double)n, &steps->outside[c * (n_max + 1) + n]);
}

double bandwidth_steps_at(struct bandwidth_steps *steps, size_t class, size_t n)
{
    size_t i = class * (steps->n_max + 1) + n;
    steps->used[i] = true;
    return steps->bytes_per_s[i];
}

size_t bandwidth_steps_extrapolated(const struct bandwidth_steps *steps)
{
    size_t n_extrapolated = 0;
    for (size_t i = 0; i < steps->n_classes * (steps->n_max + 1); i++)
        n_extrapolated += steps->outside[i] && steps->used[i];
    return n_extrapolated;
}

void bandwidth_steps_release(struct bandwidth_steps *steps)
{
    free(steps->bytes_per_s);
    free(steps->outside);
    free(steps->used);
    *steps = (struct bandwidth_steps){0};
}

struct staircase_mix staircase_mix_of(const struct traffic *traffic, unsigned levels, size_t rank)
{
    struct staircase_mix mix = {0};
    double volume = traffic_bytes(traffic, rank, INCOMING, levels);
    for (size_t c = 0; c < traffic->n_classes; c++) {
        enum level level = traffic->classes[c].level;
        double bytes = traffic->bytes[INCOMING][rank * traffic->n_classes + c];
        if (!(bytes > 0) || !traffic_class_in(traffic, c, levels))
            continue;
        double of_level = traffic_bytes(traffic, rank, INCOMING, LEVEL_BIT(level));
        if (mix.n_classes > 0 && traffic->classes[mix.parts[mix.n_classes - 1].class].level == level)
            mix.parts[mix.n_classes - 1].last_of_level = false;
        mix.parts[mix.n_classes].class = c;
        mix.parts[mix.n_classes].in_level = bytes / of_level;
        mix.parts[mix.n_classes].level = of_level / volume;
        mix.parts[mix.n_classes++].last_of_level = true;
    }
    return mix;
}

double staircase_mix_bandwidth(const struct staircase_mix *mix, struct bandwidth_steps *steps, size_t n)
{
    double sum = 0, inverse = 0;
    for (size_t i = 0; i < mix->n_classes; i++) {
        inverse += mix->parts[i].in_level / bandwidth_steps_at(steps, mix->parts[i].class, n);
        if (!mix->parts[i].last_of_level)
            continue;
        sum += mix->parts[i].level / inverse;
        inverse = 0;
    }
    return sum / (double)n;
}

size_t staircase_only_class(const struct traffic *traffic, unsigned levels, const uint32_t *ranks, size_t n)
{
    size_t only = NO_CLASS;
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < traffic->n_classes; c++) {
            bool carries = traffic->bytes[INCOMING][ranks[i] * traffic->n_classes + c] > 0;
            if (!carries || !traffic_class_in(traffic, c, levels) || c == only)
                continue;
            if (only != NO_CLASS)
                return NO_CLASS;
            only = c;
        }
    }
    return only;
}

static int compare_volume(const void *a, const void *b)
{
    const struct competitor *x = a, *y = b;
    if (x->volume < y->volume || x->volume > y->volume)
        return x->volume < y->volume ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

void staircase_receive_even(size_t class, struct bandwidth_steps *steps, struct competitor *competitors, size_t n)
{
    qsort(competitors, n, sizeof *competitors, compare_volume);
    double elapsed_s = 0, before = 0; /* V_{i-1} */
    for (size_t i = 0; i < n; i++) {
        /* T7 (T5): t_i = t_{i-1} + (N - i) (V_i - V_{i-1}) / BW_MP(N - i); ties add 0. */
        double left = (double)(n - i);
        if (competitors[i].volume > before)
            elapsed_s += left * (competitors[i].volume - before) / bandwidth_steps_at(steps, class, n - i);
        before = competitors[i].volume;
        competitors[i].rest = 0;
        competitors[i].recv_s = elapsed_s;
    }
}

void staircase_receive_mixed(const struct traffic *traffic, unsigned levels, struct bandwidth_steps *steps,
                             struct competitor *competitors, size_t n)
{
    struct staircase_mix *mixes = xmalloc((n + 1) * sizeof *mixes);
    double *bytes_per_s = xmalloc((n + 1) * sizeof *bytes_per_s); /* rate of competitor i in this step */
    struct competitor *finished = xmalloc((n + 1) * sizeof *finished);
    size_t n_finished = 0, left = n;
    double elapsed_s = 0;
    for (size_t i = 0; i < n; i++)
        mixes[i] = staircase_mix_of(traffic, levels, competitors[i].rank);
    while (left > 0) {
        /* T13 chooses the unfinished rank q with the least rest over its bandwidth, n = N - k. */
        size_t q = 0;
        double step_s = 0;
        for (size_t i = 0; i < left; i++) {
            bytes_per_s[i] = staircase_mix_bandwidth(&mixes[i], steps, left);
            double needed_s = competitors[i].rest / bytes_per_s[i];
            if (i == 0 || needed_s < step_s) {
                q = i;
                step_s = needed_s;
            }
        }
        elapsed_s += step_s; /* T14 */
        size_t kept = 0;
        for (size_t i = 0; i < left; i++) {
            /* T16 and T17 go together, on and off, as theta_i is fixed. */
            competitors[i].rest -= step_s * bytes_per_s[i];
            if (i == q || competitors[i].rest <= FINISHED * competitors[i].volume) {
                competitors[i].rest = 0;
                competitors[i].recv_s = elapsed_s;
                finished[n_finished++] = competitors[i];
            } else {
                if (kept != i) {
                    competitors[kept] = competitors[i];
                    mixes[kept] = mixes[i];
                }
                kept++;
            }
        }
        left = kept;
    }
    for (size_t i = 0; i < n; i++)
        competitors[i] = finished[i];
    free(mixes);
    free(bytes_per_s);
    free(finished);
}

/* Tells the senders of one receiver's messages when each is delivered. */
static void deliver_to(const struct size_order *order, uint32_t receiver, const uint32_t *src, double recv_s,
                       struct critical *sends)
{
    size_t begin = order->first[receiver], end = order->first[receiver + 1];
    double volume = 0; /* V_i */
    for (size_t j = begin; j < end; j++)
        volume += (double)order->bytes[j];
    if (!(volume > 0))
        return;
    double delivered_s = 0;
    uint64_t before = 0; /* s_{i,j-1} */
    for (size_t j = begin; j < end; j++) {
        /* T9: t_j = t_{j-1} + (M_i - j) (s_j - s_{j-1}) / V_i t_i^recv. */
        delivered_s += (double)(end - j) * (double)(order->bytes[j] - before) / volume * recv_s;
        before = order->bytes[j];
        critical_take(&sends[src[order->message[j]]], &(struct critical){.at_s = delivered_s,
                                                                         .bytes = (double)order->bytes[j],
                                                                         .message = order->message[j],
                                                                         .way = receiver});
    }
}

void staircase_delivery(const struct traffic *traffic, unsigned levels, const double *recv_s, struct critical *sends)
{
    struct size_order order;
    size_order_init(&order, traffic, levels, INCOMING, NULL, traffic->n_ranks);
    for (size_t rank = 0; rank < traffic->n_ranks; rank++)
        sends[rank] = (struct critical){0};
    for (size_t rank = 0; rank < traffic->n_ranks; rank++)
        deliver_to(&order, (uint32_t)rank, traffic->pattern->src, recv_s[rank], sends);
    size_order_release(&order);
}

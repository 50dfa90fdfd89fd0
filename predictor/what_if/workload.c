/* Predicts every kind on its own ranks alone: groups hold competitors only, so the rest of the world changes nothing.
 */
#include "predictor/what_if/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/memory.h"

void workload_init(struct workload *workload, size_t n_ranks)
{
    *workload = (struct workload){.n_ranks = n_ranks, .number = xcalloc(n_ranks + 1, sizeof *workload->number)};
}

/* Numbers the ranks of ends[n] by first appearance; numbers start at *n_ranks. */
static void renumber(struct workload *workload, uint32_t *ends, size_t n, uint32_t *world_rank, size_t *n_ranks)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t world = ends[i];
        if (workload->number[world] == 0) {
            world_rank[*n_ranks] = world;
            workload->number[world] = (uint32_t)++ * n_ranks;
        }
        ends[i] = workload->number[world] - 1;
    }
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

void workload_add(struct workload *workload, uint64_t rounds, double weight, struct pattern *pattern)
{
    array_grow(&workload->kinds, workload->n_kinds, sizeof *workload->kinds);
    size_t most = smaller(workload->n_ranks, 2 * pattern->n_messages), n_ranks = 0;
    uint32_t *world_rank = xmalloc((most + 1) * sizeof *world_rank);
    renumber(workload, pattern->src, pattern->n_messages, world_rank, &n_ranks);
    renumber(workload, pattern->dst, pattern->n_messages, world_rank, &n_ranks);
    for (size_t i = 0; i < n_ranks; i++)
        workload->number[world_rank[i]] = 0;
    workload->kinds[workload->n_kinds++] = (struct workload_kind){
        .rounds = rounds, .weight = weight, .n_ranks = n_ranks, .world_rank = world_rank, .pattern = *pattern};
    *pattern = (struct pattern){0};
}

void workload_release(struct workload *workload)
{
    for (size_t k = 0; k < workload->n_kinds; k++) {
        pattern_release(&workload->kinds[k].pattern);
        free(workload->kinds[k].world_rank);
    }
    free(workload->kinds);
    free(workload->number);
    *workload = (struct workload){0};
}

static void place_kind(const struct workload_kind *kind, const struct placement *world, struct placement *placement)
{
    for (size_t i = 0; i < kind->n_ranks; i++) {
        uint32_t rank = kind->world_rank[i];
        placement->node[i] = world->node[rank];
        placement->socket[i] = world->socket[rank];
        placement->numa[i] = world->numa[rank];
        placement->l3[i] = world->l3[rank];
    }
}

int workload_predict_kind(const struct workload *workload, size_t kind, const struct placement *placement,
                          const struct workload_judge *judge, double *rank_s, struct workload_round *round,
                          struct error *error)
{
    const struct workload_kind *of = &workload->kinds[kind];
    struct placement places;
    struct prediction prediction;
    *round = (struct workload_round){0};
    placement_init(&places, of->n_ranks);
    prediction_init(&prediction, of->n_ranks);
    place_kind(of, placement, &places);
    uint64_t rounds = workload->one_pattern ? 0 : of->rounds;
    const struct model_options options = model_options_of_kind(judge->options, rounds);
    int result =
        model_choice_predict(judge->model, &of->pattern, &places, judge->machine, &options, &prediction, error);
    for (size_t i = 0; result == 0 && i < of->n_ranks; i++) {
        double time_s = prediction.time_s[i];
        round->sum_s += time_s;
        if (time_s > round->largest_s)
            round->largest_s = time_s;
        if (rank_s != NULL)
            rank_s[of->world_rank[i]] += of->weight * time_s;
    }
    round->extrapolated = prediction.extrapolated;
    prediction_release(&prediction);
    placement_release(&places);
    return result;
}

int workload_predict(const struct workload *workload, const struct placement *placement,
                     const struct workload_judge *judge, struct workload_times *times, struct error *error)
{
    times->total_s = 0;
    times->extrapolated = 0;
    memset(times->rank_s, 0, workload->n_ranks * sizeof *times->rank_s);
    for (size_t k = 0; k < workload->n_kinds; k++) {
        struct workload_round round;
        if (workload_predict_kind(workload, k, placement, judge, times->rank_s, &round, error) != 0)
            return -1;
        times->total_s += workload->kinds[k].weight * round.largest_s;
        times->extrapolated += round.extrapolated;
    }
    if (!isfinite(times->total_s))
        return error_set(error, "the modelled time of the run is out of range");
    return 0;
}

size_t workload_messages(const struct workload *workload)
{
    size_t n = 0;
    for (size_t k = 0; k < workload->n_kinds; k++)
        n += workload->kinds[k].pattern.n_messages;
    return n;
}

void workload_kinds_of_ranks(const struct workload *workload, size_t **first, uint32_t **kind_of)
{
    size_t n = 0, n_ranks = workload->n_ranks;
    for (size_t k = 0; k < workload->n_kinds; k++)
        n += workload->kinds[k].n_ranks;
    *first = xcalloc(n_ranks + 2, sizeof **first);
    *kind_of = xmalloc((n + 1) * sizeof **kind_of);
    size_t *next = *first + 1; /* next[r]: where the next kind of rank r goes; at the end, first[r + 1] */
    for (size_t k = 0; k < workload->n_kinds; k++)
        for (size_t i = 0; i < workload->kinds[k].n_ranks; i++)
            next[workload->kinds[k].world_rank[i] + 1]++;
    for (size_t rank = 0; rank < n_ranks; rank++)
        next[rank + 1] += next[rank];
    for (size_t k = 0; k < workload->n_kinds; k++)
        for (size_t i = 0; i < workload->kinds[k].n_ranks; i++)
            (*kind_of)[next[workload->kinds[k].world_rank[i]]++] = (uint32_t)k;
}

/* Joins messages to one partner: they are sorted by their two ends, and runs of equal ends are added up. */
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
    pattern_append(to, ends[begin].src, ends[begin].dst, bytes); /* no more than there were */
    pattern_set_posts(to, from->send_s != NULL ? &send_s : NULL, from->recv_s != NULL ? &recv_s : NULL);
    if (from->match != NULL)
        pattern_set_match(to, match / 2, (match & 1u) != 0);
    return 0;
}

/* Keeps what connections did before; a connection's messages rested alike. */
static void keep_rests(const struct pattern *from, const struct ends *ends, struct pattern *to)
{
    to->carried_before = from->carried_before;
    to->carried_between = from->carried_between;
    if (from->rest_s == NULL)
        return;
    to->rest_s = xmalloc((to->n_messages + 1) * sizeof *to->rest_s);
    for (size_t i = 0, k = 0; i < from->n_messages; i++) {
        k += i > 0 && (ends[i].src != ends[i - 1].src || ends[i].dst != ends[i - 1].dst);
        to->rest_s[k] = from->rest_s[ends[i].message];
    }
}

static int aggregate_pattern(struct pattern *pattern, struct error *error)
{
    struct pattern sums = {0};
    size_t n = pattern->n_messages;
    struct ends *ends = xmalloc((n + 1) * sizeof *ends);
    int result = 0;
    for (size_t k = 0; k < n; k++)
        ends[k] = (struct ends){pattern->src[k], pattern->dst[k], k};
    qsort(ends, n, sizeof *ends, compare_ends);
    for (size_t begin = 0, end; result == 0 && begin < n; begin = end) {
        for (end = begin + 1; end < n && ends[end].src == ends[begin].src && ends[end].dst == ends[begin].dst;)
            end++;
        result = append_sum(pattern, ends, begin, end, &sums, error);
    }
    if (result == 0) {
        keep_rests(pattern, ends, &sums);
        pattern_release(pattern);
        *pattern = sums;
    } else {
        pattern_release(&sums);
    }
    free(ends);
    return result;
}

int workload_aggregate(struct workload *workload, struct error *error)
{
    for (size_t k = 0; k < workload->n_kinds; k++)
        if (aggregate_pattern(&workload->kinds[k].pattern, error) != 0)
            return -1;
    return 0;
}

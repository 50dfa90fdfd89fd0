/* Passes once over the messages into sums for each rank, then once over the ranks. */
#include "predictor/pattern/pattern_statistics.h"

#include <stdlib.h>

#include "share/base/statistics.h"

struct rank_sums {
    uint64_t *messages; /* [n_ranks] */
    uint64_t *bytes;
};

static int sums_init(struct rank_sums *sums, size_t n_ranks)
{
    sums->messages = calloc(n_ranks, sizeof *sums->messages);
    sums->bytes = calloc(n_ranks, sizeof *sums->bytes);
    return sums->messages == NULL || sums->bytes == NULL ? -1 : 0;
}

static void sums_release(struct rank_sums *sums)
{
    free(sums->messages);
    free(sums->bytes);
}

static void sums_add(struct rank_sums *sums, uint32_t rank, uint64_t bytes)
{
    sums->messages[rank]++;
    sums->bytes[rank] += bytes;
}

static struct pattern_side_statistics side(const struct rank_sums *sums, size_t n_ranks)
{
    struct pattern_side_statistics s = {.least_messages = n_ranks > 0 ? UINT64_MAX : 0};
    for (size_t rank = 0; rank < n_ranks; rank++) {
        uint64_t messages = sums->messages[rank], bytes = sums->bytes[rank];
        s.most_messages = messages > s.most_messages ? messages : s.most_messages;
        s.least_messages = messages < s.least_messages ? messages : s.least_messages;
        s.most_bytes = bytes > s.most_bytes ? bytes : s.most_bytes;
        if (bytes > 0 && (s.least_bytes == 0 || bytes < s.least_bytes))
            s.least_bytes = bytes;
    }
    return s;
}

/* Counts different nodes, as their numbers need not be dense. Returns -1 without memory. */
static int count_nodes(const struct placement *placement, size_t *n_nodes)
{
    uint32_t *nodes = malloc((placement->n_ranks + 1) * sizeof *nodes);
    if (nodes == NULL)
        return -1;
    for (size_t i = 0; i < placement->n_ranks; i++)
        nodes[i] = placement->node[i];
    qsort(nodes, placement->n_ranks, sizeof *nodes, compare_u32);
    *n_nodes = 0;
    for (size_t i = 0; i < placement->n_ranks; i++)
        *n_nodes += i == 0 || nodes[i] != nodes[i - 1];
    free(nodes);
    return 0;
}

static int add_messages(const struct pattern *pattern, const struct placement *placement,
                        struct pattern_statistics *statistics, struct rank_sums *in, struct rank_sums *out,
                        struct error *error)
{
    for (size_t i = 0; i < pattern->n_messages; i++) {
        uint32_t src = pattern->src[i], dst = pattern->dst[i];
        uint64_t bytes = pattern->bytes[i];
        enum level level = placement_level(placement, src, dst);
        if (__builtin_add_overflow(statistics->bytes, bytes, &statistics->bytes))
            return error_set(error, "the pattern's bytes are more than 64 bits hold");
        statistics->level_messages[level]++;
        statistics->level_bytes[level] += bytes;
        if (level == LEVEL_SELF)
            continue;
        sums_add(out, src, bytes);
        sums_add(in, dst, bytes);
    }
    return 0;
}

int pattern_statistics(const struct pattern *pattern, const struct placement *placement,
                       struct pattern_statistics *statistics, struct error *error)
{
    struct rank_sums in, out;
    size_t n_ranks = placement->n_ranks;
    int in_memory = sums_init(&in, n_ranks), out_memory = sums_init(&out, n_ranks), result = 0;
    *statistics = (struct pattern_statistics){.n_ranks = n_ranks, .n_messages = pattern->n_messages};
    if (in_memory != 0 || out_memory != 0 || count_nodes(placement, &statistics->n_nodes) != 0)
        result = error_set(error, "no memory for the statistics of %zu ranks", n_ranks);
    else
        result = add_messages(pattern, placement, statistics, &in, &out, error);
    if (result == 0) {
        statistics->received = side(&in, n_ranks);
        statistics->sent = side(&out, n_ranks);
    }
    sums_release(&in);
    sums_release(&out);
    return result;
}

/* Predicts every kind on its own ranks alone: groups hold competitors only, so the rest of the world changes nothing.
 */
#include "predictor/what_if/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"

int workload_init(struct workload *workload, size_t n_ranks)
{
    *workload = (struct workload){.n_ranks = n_ranks, .number = calloc(n_ranks + 1, sizeof *workload->number)};
    return workload->number != NULL ? 0 : -1;
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

int workload_add(struct workload *workload, uint64_t rounds, double weight, struct pattern *pattern)
{
    if (array_grow(&workload->kinds, workload->n_kinds, sizeof *workload->kinds) != 0)
        return -1;
    size_t most = smaller(workload->n_ranks, 2 * pattern->n_messages), n_ranks = 0;
    uint32_t *world_rank = malloc((most + 1) * sizeof *world_rank);
    if (world_rank == NULL)
        return -1;
    renumber(workload, pattern->src, pattern->n_messages, world_rank, &n_ranks);
    renumber(workload, pattern->dst, pattern->n_messages, world_rank, &n_ranks);
    for (size_t i = 0; i < n_ranks; i++)
        workload->number[world_rank[i]] = 0;
    workload->kinds[workload->n_kinds++] = (struct workload_kind){
        .rounds = rounds, .weight = weight, .n_ranks = n_ranks, .world_rank = world_rank, .pattern = *pattern};
    *pattern = (struct pattern){0};
    return 0;
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
    struct prediction prediction = {0};
    int result = -1;
    *round = (struct workload_round){0};
    if (placement_init(&places, of->n_ranks) != 0 || prediction_init(&prediction, of->n_ranks) != 0) {
        error_set(error, "no memory for %zu ranks", of->n_ranks);
        goto out;
    }
    place_kind(of, placement, &places);
    uint64_t rounds = workload->one_pattern ? 0 : of->rounds;
    const struct model_options options = model_options_of_kind(judge->options, rounds);
    result = model_choice_predict(judge->model, &of->pattern, &places, judge->machine, &options, &prediction, error);
    for (size_t i = 0; result == 0 && i < of->n_ranks; i++) {
        double time_s = prediction.time_s[i];
        round->sum_s += time_s;
        if (time_s > round->largest_s)
            round->largest_s = time_s;
        if (rank_s != NULL)
            rank_s[of->world_rank[i]] += of->weight * time_s;
    }
    round->extrapolated = prediction.extrapolated;
out:
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

int workload_kinds_of_ranks(const struct workload *workload, size_t **first, uint32_t **kind_of)
{
    size_t n = 0, n_ranks = workload->n_ranks;
    for (size_t k = 0; k < workload->n_kinds; k++)
        n += workload->kinds[k].n_ranks;
    *first = calloc(n_ranks + 2, sizeof **first);
    *kind_of = malloc((n + 1) * sizeof **kind_of);
    if (*first == NULL || *kind_of == NULL) {
        free(*first);
        free(*kind_of);
        *first = NULL;
        *kind_of = NULL;
        return -1;
    }
    size_t *next = *first + 1; /* next[r]: where the next kind of rank r goes; at the end, first[r + 1] */
    for (size_t k = 0; k < workload->n_kinds; k++)
        for (size_t i = 0; i < workload->kinds[k].n_ranks; i++)
            next[workload->kinds[k].world_rank[i] + 1]++;
    for (size_t rank = 0; rank < n_ranks; rank++)
        next[rank + 1] += next[rank];
    for (size_t k = 0; k < workload->n_kinds; k++)
        for (size_t i = 0; i < workload->kinds[k].n_ranks; i++)
            (*kind_of)[next[workload->kinds[k].world_rank[i]]++] = (uint32_t)k;
    return 0;
}

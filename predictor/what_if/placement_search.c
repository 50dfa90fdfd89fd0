/* Searches locally. It begins at the best of: where the ranks are, the three placements by rule, the partitioner's. Two
 * ranks of different nodes or sockets exchange their places, slowest ranks first; what is better stays. Where no
 * exchange helps, a few are done at random and the search goes on from there, or back at the best if that led nowhere.
 *
 * Better means a smaller T of the run (largest time of a round, summed over the rounds), or the same T with a smaller
 * sum of the times of all ranks. The largest alone is flat: where two ranks are the slowest, helping one changes
 * nothing yet. An exchange predicts anew only the kinds of round in which one of the two takes part. */
#include "predictor/what_if/placement_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/what_if/arrange.h"
#include "predictor/what_if/placement_map.h"
#include "share/base/memory.h"
#include "share/base/monotonic.h"
#include "share/base/random.h"

/* Say how many random exchanges are made at once where no single one helps, and how often that may be in vain. */
enum { KICK = 3, VAIN_KICKS = 24 };
/* Smaller differences are rounding. */
#define TOLERANCE 1e-12

struct value {
    double total_s, sum_s;
};

struct state {
    const struct placement_search *search;
    struct placement_found *found;
    double end_s;
    uint64_t random;
    struct placement now;
    struct workload_round *rounds; /* [n_kinds] at present */
    struct value value;            /* at present */
    size_t *first_kind;            /* [n_ranks + 1] into kind_of */
    uint32_t *kind_of;             /* kinds in which a rank takes part */
    struct workload_round *tried;  /* [n_kinds] with an exchange */
    uint32_t *touched;             /* [n_kinds] kinds of an exchange */
    uint32_t *stamp;               /* [n_kinds] the exchange that touched it last */
    uint32_t exchange;
    uint32_t *order, *partner; /* [n_ranks] */
    double *rank_s;            /* [n_ranks] */
};

static bool time_over(struct state *state)
{
    state->found->timed_out = clock_now_s() >= state->end_s;
    return state->found->timed_out;
}

static void shuffle(struct state *state, uint32_t *ranks, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = random_below(&state->random, i);
        uint32_t rank = ranks[i - 1];
        ranks[i - 1] = ranks[k];
        ranks[k] = rank;
    }
}

static bool is_better(struct value a, struct value b)
{
    double margin_s = TOLERANCE * b.total_s;
    if (a.total_s < b.total_s - margin_s)
        return true;
    return a.total_s <= b.total_s + margin_s && a.sum_s < b.sum_s - TOLERANCE * b.sum_s;
}

static int predict(struct state *state, size_t kind, double *rank_s, struct workload_round *round, struct error *error)
{
    state->found->predictions++;
    return workload_predict_kind(state->search->workload, kind, &state->now, &state->search->judge, rank_s, round,
                                 error);
}

/* Predicts all kinds at state->now, and with them the time of every rank. */
static int settle(struct state *state, struct error *error)
{
    const struct workload *workload = state->search->workload;
    state->value = (struct value){0};
    memset(state->rank_s, 0, workload->n_ranks * sizeof *state->rank_s);
    for (size_t k = 0; k < workload->n_kinds; k++) {
        if (predict(state, k, state->rank_s, &state->rounds[k], error) != 0)
            return -1;
        state->value.total_s += workload->kinds[k].weight * state->rounds[k].largest_s;
        state->value.sum_s += workload->kinds[k].weight * state->rounds[k].sum_s;
    }
    return 0;
}

/* Puts the kinds in which one of two ranks takes part into touched. */
static size_t touch(struct state *state, uint32_t a, uint32_t b)
{
    size_t n = 0;
    const uint32_t ranks[] = {a, b};
    state->exchange++;
    for (size_t r = 0; r < 2; r++)
        for (size_t i = state->first_kind[ranks[r]]; i < state->first_kind[ranks[r] + 1]; i++)
            if (state->stamp[state->kind_of[i]] != state->exchange) {
                state->stamp[state->kind_of[i]] = state->exchange;
                state->touched[n++] = state->kind_of[i];
            }
    return n;
}

/* Exchanges the places of two ranks if that is better, or anyway where it is forced; returns whether it did. An
 * exchange that a model refuses (the machine has no values for a level) is not done. */
static bool try_exchange(struct state *state, uint32_t a, uint32_t b, bool forced)
{
    const struct workload *workload = state->search->workload;
    size_t n = touch(state, a, b);
    struct value value = state->value;
    bool keep = n > 0;
    struct error refusal;
    placement_exchange(&state->now, a, b);
    for (size_t i = 0; keep && i < n; i++) {
        size_t k = state->touched[i];
        double weight = workload->kinds[k].weight;
        keep = predict(state, k, NULL, &state->tried[i], &refusal) == 0;
        value.total_s += weight * (state->tried[i].largest_s - state->rounds[k].largest_s);
        value.sum_s += weight * (state->tried[i].sum_s - state->rounds[k].sum_s);
    }
    keep = keep && (forced || is_better(value, state->value));
    if (!keep) {
        placement_exchange(&state->now, a, b);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        state->rounds[state->touched[i]] = state->tried[i];
    state->value = value;
    return true;
}

static int slower_first(const void *a, const void *b, void *rank_s)
{
    const double *times_s = rank_s;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (times_s[x] != times_s[y])
        return times_s[x] > times_s[y] ? -1 : 1;
    return (x > y) - (x < y);
}

/* Tries every rank with every other, once; returns whether anything got better. */
static bool sweep(struct state *state)
{
    size_t n = state->now.n_ranks;
    bool better = false;
    qsort_r(state->order, n, sizeof *state->order, slower_first, state->rank_s);
    for (size_t i = 0; i < n; i++) {
        shuffle(state, state->partner, n);
        for (size_t k = 0; k < n; k++) {
            uint32_t a = state->order[i], b = state->partner[k];
            if (placement_same(&state->now, a, b))
                continue;
            if (time_over(state))
                return better;
            better |= try_exchange(state, a, b, false);
        }
    }
    return better;
}

/* Goes from now to where no exchange of two helps. */
static int descend(struct state *state, struct error *error)
{
    bool better = true;
    while (better) {
        better = sweep(state);
        if (settle(state, error) != 0)
            return -1;
        if (state->found->timed_out)
            return 0;
    }
    return 0;
}

/* Keeps now as best if it is better than best_value. */
static bool keep_best(struct state *state, struct placement *best, struct value *best_value)
{
    if (!is_better(state->value, *best_value) || state->value.total_s > best_value->total_s)
        return false;
    placement_copy(best, &state->now);
    *best_value = state->value;
    return true;
}

/* Searches on from the best placement so far, as long as there is time and hope. */
static int search_on(struct state *state, struct placement *best, struct value *best_value, struct error *error)
{
    size_t n = state->now.n_ranks;
    placement_copy(&state->now, best);
    if (settle(state, error) != 0 || descend(state, error) != 0)
        return -1;
    keep_best(state, best, best_value);
    for (int vain = 0; vain < VAIN_KICKS && !time_over(state); vain++) {
        placement_copy(&state->now, best);
        if (settle(state, error) != 0)
            return -1;
        for (int i = 0; i < KICK; i++) {
            uint32_t a = (uint32_t)random_below(&state->random, n), b = (uint32_t)random_below(&state->random, n);
            if (!placement_same(&state->now, a, b))
                try_exchange(state, a, b, true);
        }
        if (descend(state, error) != 0)
            return -1;
        if (keep_best(state, best, best_value))
            vain = -1;
    }
    return 0;
}

/* Tries now as a place to start from; returns its T, or NaN where it cannot be predicted. */
static double consider(struct state *state, struct placement *best, struct value *best_value)
{
    struct error refusal;
    if (settle(state, &refusal) != 0)
        return NAN;
    keep_best(state, best, best_value);
    return state->value.total_s;
}

static void state_init(struct state *state)
{
    size_t n_ranks = state->search->workload->n_ranks, n_kinds = state->search->workload->n_kinds;
    state->rounds = xcalloc(n_kinds + 1, sizeof *state->rounds);
    state->tried = xcalloc(n_kinds + 1, sizeof *state->tried);
    state->touched = xcalloc(n_kinds + 1, sizeof *state->touched);
    state->stamp = xcalloc(n_kinds + 1, sizeof *state->stamp);
    state->order = xcalloc(n_ranks + 1, sizeof *state->order);
    state->partner = xcalloc(n_ranks + 1, sizeof *state->partner);
    state->rank_s = xcalloc(n_ranks + 1, sizeof *state->rank_s);
    placement_init(&state->now, n_ranks);
    workload_kinds_of_ranks(state->search->workload, &state->first_kind, &state->kind_of);
    for (size_t rank = 0; rank < n_ranks; rank++)
        state->order[rank] = state->partner[rank] = (uint32_t)rank;
}

static void state_release(struct state *state)
{
    placement_release(&state->now);
    free(state->rounds);
    free(state->tried);
    free(state->touched);
    free(state->stamp);
    free(state->first_kind);
    free(state->kind_of);
    free(state->order);
    free(state->partner);
    free(state->rank_s);
}

int placement_search(const struct placement_search *search, const struct placement *start, struct placement *best,
                     struct placement_found *found, struct error *error)
{
    struct state state = {
        .search = search, .found = found, .end_s = clock_now_s() + search->seconds, .random = search->seed};
    struct value best_value;
    *found = (struct placement_found){.mapped_s = NAN};
    state_init(&state);
    placement_copy(best, start);
    placement_copy(&state.now, start);
    int result = settle(&state, error);
    best_value = state.value;
    found->start_s = state.value.total_s;
    for (enum arrangement rule = 0; result == 0 && rule < ARRANGE_COUNT; rule++) {
        placement_arrange(start, rule, &state.now);
        consider(&state, best, &best_value);
    }
    if (result == 0)
        result = placement_map(search->workload, start, search->seed, &state.now, error);
    if (result == 0) {
        found->mapped_s = consider(&state, best, &best_value);
        result = search_on(&state, best, &best_value, error);
        found->best_s = best_value.total_s;
    }
    state_release(&state);
    return result;
}

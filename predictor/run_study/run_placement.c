/* Places by rule and by the partitioner are the start, since they move many ranks at once; exchanges of two ranks
 * follow, in an order by chance, until none of them helps. See run_placement.h. */
#include "predictor/run_study/run_placement.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/what_if/arrange.h"
#include "predictor/what_if/placement_map.h"
#include "share/base/memory.h"
#include "share/base/monotonic.h"
#include "share/base/random.h"

/* Smaller gains are rounding. */
static const double LEAST_GAIN = 1e-9;

struct searching {
    const struct run_placement_search *search;
    struct run_placement_found *found;
    struct placement *best, tried;
    double until_s;
};

/* Replays the placement that is tried, and keeps it if it is better. A placement that cannot be replayed (a level
 * that the machine lacks) is none. */
static void judge(struct searching *searching)
{
    const struct run_placement_search *search = searching->search;
    struct simulation_result result;
    int code = simulate(search->program, search->machine, &searching->tried, search->options, &result, NULL);
    double run_s = code == 0 ? result.end_s - result.begin_s : (double)INFINITY;
    simulation_result_release(&result);
    searching->found->n_replays++;
    if (run_s < searching->found->best_s * (1 - LEAST_GAIN)) {
        searching->found->best_s = run_s;
        placement_copy(searching->best, &searching->tried);
    }
}

static bool out_of_time(struct searching *searching)
{
    searching->found->timed_out = searching->found->timed_out || clock_now_s() >= searching->until_s;
    return searching->found->timed_out;
}

/* Goes through all pairs of ranks once, in the order given. Returns true if an exchange helped. */
static bool exchange(struct searching *searching, const size_t *order, size_t n)
{
    double before_s = searching->found->best_s;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n && !out_of_time(searching); j++) {
            size_t a = order[i], b = order[j];
            if (placement_same(searching->best, a, b))
                continue;
            placement_copy(&searching->tried, searching->best);
            placement_exchange(&searching->tried, a, b);
            judge(searching);
        }
    return searching->found->best_s < before_s;
}

/* Tries the partitioner's placement; where it fails, the others are left. */
static void judge_mapped(struct searching *searching, const struct placement *start)
{
    const struct run_program *program = searching->search->program;
    struct rank_bytes *pairs = xmalloc((program->n_messages + 1) * sizeof *pairs);
    struct error error;
    for (size_t i = 0; i < program->n_messages; i++) {
        const struct run_message *message = &program->messages[i];
        pairs[i] = (struct rank_bytes){message->src, message->dst, (double)message->bytes};
    }
    if (placement_map(pairs, program->n_messages, start, searching->search->seed, &searching->tried, &error) == 0)
        judge(searching);
    free(pairs);
}

static void search_from(struct searching *searching, const struct placement *start)
{
    size_t n = start->n_ranks, *order = xmalloc((n + 1) * sizeof *order);
    struct twister random;
    for (enum arrangement rule = 0; rule < ARRANGE_COUNT && !out_of_time(searching); rule++) {
        placement_arrange(start, rule, &searching->tried);
        judge(searching);
    }
    if (placement_map_is_built() && !out_of_time(searching))
        judge_mapped(searching, start);
    twister_seed(&random, searching->search->seed);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    do
        twister_shuffle(&random, order, n);
    while (exchange(searching, order, n) && !out_of_time(searching));
    free(order);
}

int run_placement_search(const struct run_placement_search *search, const struct placement *start,
                         struct placement *best, struct run_placement_found *found, struct error *error)
{
    struct searching searching = {
        .search = search, .found = found, .best = best, .until_s = clock_now_s() + search->seconds};
    struct simulation_result result;
    *found = (struct run_placement_found){.n_replays = 1};
    int code = simulate(search->program, search->machine, start, search->options, &result, error);
    found->start_s = found->best_s = result.end_s - result.begin_s;
    simulation_result_release(&result);
    if (code != 0)
        return -1;
    placement_copy(best, start);
    placement_init(&searching.tried, start->n_ranks);
    search_from(&searching, start);
    placement_release(&searching.tried);
    return 0;
}

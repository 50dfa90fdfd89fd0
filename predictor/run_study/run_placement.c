/* Places by rule and by the partitioner are the start, since they move many ranks at once; exchanges of two ranks
 * follow, in an order by chance, until none of them helps. */
#include <stdlib.h>

#include "predictor/run_study/run_side.h"
#include "predictor/what_if/arrange.h"
#include "predictor/what_if/places.h"
#include "share/base/memory.h"
#include "share/base/monotonic.h"
#include "share/base/random.h"

/* Smaller gains are rounding. */
static const double LEAST_GAIN = 1e-9;

struct searching {
    struct run_study *study;
    struct placement tried;
    double until_s;
};

/* Replays the placement that is tried, and keeps it if it is better. A placement that cannot be replayed (a level
 * that the machine lacks) is none. */
static void judge(struct searching *searching)
{
    struct run_placement_found *found = &searching->study->found;
    struct run_side *after = &searching->study->after;
    double run_s;
    int code =
        simulate_length(&searching->study->program, &after->machine, &searching->tried, &after->options, &run_s, NULL);
    found->n_replays++;
    if (code == 0 && run_s < found->best_s * (1 - LEAST_GAIN)) {
        found->best_s = run_s;
        placement_copy(&after->placement, &searching->tried);
    }
}

static bool out_of_time(struct searching *searching)
{
    bool *timed_out = &searching->study->found.timed_out;
    *timed_out = *timed_out || clock_now_s() >= searching->until_s;
    return *timed_out;
}

/* Goes through all pairs of ranks once, in the order given. Returns true if an exchange helped. */
static bool exchange(struct searching *searching, const size_t *order, size_t n)
{
    const struct run_study *study = searching->study;
    const struct placement *best = &study->after.placement;
    double before_s = study->found.best_s;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n && !out_of_time(searching); j++) {
            size_t a = order[i], b = order[j];
            if (placement_same(best, a, b))
                continue;
            placement_copy(&searching->tried, best);
            placement_exchange(&searching->tried, a, b);
            judge(searching);
        }
    return study->found.best_s < before_s;
}

/* Tries the partitioner's placement; where it fails, the others are left. */
static void judge_mapped(struct searching *searching)
{
    const struct run_study *study = searching->study;
    const struct run_program *program = &study->program;
    struct rank_bytes *pairs = xmalloc((program->n_messages + 1) * sizeof *pairs);
    struct error error;
    for (size_t i = 0; i < program->n_messages; i++) {
        const struct run_message *message = &program->messages[i];
        pairs[i] = (struct rank_bytes){message->src, message->dst, (double)message->bytes};
    }
    if (placement_map(pairs, program->n_messages, &study->before.placement, study->options->what_if.seed,
                      &searching->tried, &error) == 0)
        judge(searching);
    free(pairs);
}

int run_placement_search(struct run_study *study, struct error *error)
{
    const struct placement *start = &study->before.placement;
    struct run_placement_found *found = &study->found;
    struct searching searching = {.study = study, .until_s = clock_now_s() + study->options->what_if.seconds};
    *found = (struct run_placement_found){.n_replays = 1};
    if (simulate_length(&study->program, &study->after.machine, start, &study->after.options, &found->start_s, error) !=
        0)
        return -1;
    found->best_s = found->start_s;
    size_t n = start->n_ranks, *order = xmalloc((n + 1) * sizeof *order);
    struct twister random;
    placement_copy(&study->after.placement, start);
    placement_init(&searching.tried, n);
    for (enum arrangement rule = 0; rule < ARRANGE_COUNT && !out_of_time(&searching); rule++) {
        placement_arrange(start, rule, &searching.tried);
        judge(&searching);
    }
    if (placement_map_is_built() && !out_of_time(&searching))
        judge_mapped(&searching);
    twister_seed(&random, study->options->what_if.seed);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    do
        twister_shuffle(&random, order, n);
    while (exchange(&searching, order, n) && !out_of_time(&searching));
    free(order);
    placement_release(&searching.tried);
    return 0;
}

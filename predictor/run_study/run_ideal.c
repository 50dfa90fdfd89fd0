/* Replays a run on an ideal network, without latency, contention and with infinite bandwidth, for its efficiencies.
 * What was measured is held against computation as recorded, with a processor for each thread, since that computation
 * holds its waits for processors. What is predicted shares processors anew on the ideal network, as it does on the
 * other one. */
#include <stdlib.h>

#include "predictor/run_study/run_side.h"
#include "share/base/memory.h"

/* options: of the side, as far as they change computation or what ranks call. inside_s[n_places], if it is not NULL,
 * gets the time inside MPI of each place. */
static int replay_ideal(const struct run_program *program, const struct run_side *side,
                        struct simulation_options options, double *run_s, double *inside_s, struct error *error)
{
    struct simulation_result result;
    options.law = LAW_POSTAL;
    options.ideal = (struct run_ideal){.no_latency = true, .no_transfer = true};
    options.model_collectives = side->options.model_collectives;
    int code = simulate(program, &side->machine, &side->placement, &options, &result, error);
    *run_s = result.end_s - result.begin_s;
    for (size_t place = 0; code == 0 && inside_s != NULL && place < program->n_places; place++)
        inside_s[place] = run_parts_sum(&result.predicted[place], RUN_COMPUTATION + 1, RUN_OTHER);
    simulation_result_release(&result);
    return code;
}

static struct run_efficiencies efficiencies_of(const struct run_program *program, const struct run_parts *by_rank,
                                               double run_s, double ideal_s)
{
    double *computed_s = xmalloc((program->n_ranks + 1) * sizeof *computed_s);
    for (size_t rank = 0; rank < program->n_ranks; rank++)
        computed_s[rank] = by_rank[rank].part_s[RUN_COMPUTATION];
    const struct run_efficiencies efficiencies = run_efficiencies_of(program, computed_s, run_s, ideal_s);
    free(computed_s);
    return efficiencies;
}

int run_efficiencies_predict(const struct run_program *program, const struct run_side *side,
                             struct run_efficiencies *predicted, struct error *error)
{
    const struct simulation_options options = {
        .scale = side->scale, .terms = side->options.terms, .turn_s = side->options.turn_s};
    double ideal_s;
    if (replay_ideal(program, side, options, &ideal_s, NULL, error) != 0)
        return -1;
    *predicted = efficiencies_of(program, side->by_rank, run_side_s(side), ideal_s);
    return 0;
}

int run_efficiencies_measure(struct run_program *program, const struct run_side *side, const struct run_parts *by_rank,
                             struct run_efficiencies *measured, double *inside_s, struct error *error)
{
    double ideal_s;
    run_program_swap_shared(program);
    int code = replay_ideal(program, side, (struct simulation_options){0}, &ideal_s, inside_s, error);
    run_program_swap_shared(program);
    if (code == 0)
        *measured = efficiencies_of(program, by_rank, program->measured_run_s, ideal_s);
    return code;
}

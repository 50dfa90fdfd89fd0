/* Replays the run with machines drawn from the intervals of the table (predictor/terms/interval.h): what is known of
 * the run time, of each rank's, and of what a change does to them. */
#include <stdlib.h>

#include "predictor/run_study/run_side.h"
#include "share/base/memory.h"
#include "share/base/side_by_side.h"

/* Fewer than predict takes, as each is a run. */
enum { RUN_DRAWS = 100 };

/* Holds the draws of both sides; times_s has n_values times for each draw: run and ranks before, then after. */
struct interval_drawing {
    const struct run_study *study;
    struct machine_draws before, after;
    size_t n_times; /* run and ranks */
    double *times_s;
};

/* Returns the length of the run (at 0), or the time of rank at - 1. */
static double time_of(const struct simulation_result *result, size_t at)
{
    return at == 0 ? result->end_s - result->begin_s : result->rank_end_s[at - 1] - result->rank_begin_s[at - 1];
}

static int replay_drawn(const struct interval_drawing *drawing, const struct run_side *side,
                        const struct machine *machine, double *times_s, struct error *error)
{
    struct simulation_result result;
    struct simulation_options options = side->options;
    options.log = false;
    int code = simulate(&drawing->study->program, machine, &side->placement, &options, &result, error);
    for (size_t at = 0; code == 0 && at < drawing->n_times; at++)
        times_s[at] = time_of(&result, at);
    simulation_result_release(&result);
    return code;
}

static const struct machine *drawn(const struct machine_draws *draws, const struct run_side *side, size_t number)
{
    return draws->n > 0 ? &draws->machines[number] : &side->machine;
}

static int replay_draw(void *context, size_t number, struct error *error)
{
    const struct interval_drawing *drawing = context;
    const struct run_study *study = drawing->study;
    double *times_s = drawing->times_s + 2 * number * drawing->n_times;
    if (replay_drawn(drawing, &study->before, drawn(&drawing->before, &study->before, number), times_s, error) != 0)
        return -1;
    if (study->after.by_rank == NULL)
        return 0;
    return replay_drawn(drawing, &study->after, drawn(&drawing->after, &study->after, number),
                        times_s + drawing->n_times, error);
}

static void find_intervals(struct run_study *study, const struct interval_drawing *drawing)
{
    double *values = xmalloc(3 * RUN_DRAWS * sizeof *values);
    study->intervals = xcalloc(drawing->n_times, sizeof *study->intervals);
    bool after = study->after.by_rank != NULL;
    for (size_t at = 0; at < drawing->n_times; at++) {
        for (size_t i = 0; i < RUN_DRAWS; i++) {
            const double *times_s = drawing->times_s + 2 * i * drawing->n_times;
            values[i] = times_s[at];
            values[RUN_DRAWS + i] = times_s[drawing->n_times + at];
            values[2 * RUN_DRAWS + i] = values[RUN_DRAWS + i] - values[i];
        }
        double before_s = time_of(&study->before.result, at), after_s = after ? time_of(&study->after.result, at) : 0;
        study->intervals[at].before = time_interval(values, RUN_DRAWS, before_s);
        if (after) {
            study->intervals[at].after = time_interval(values + RUN_DRAWS, RUN_DRAWS, after_s);
            study->intervals[at].change = time_interval(values + 2 * RUN_DRAWS, RUN_DRAWS, after_s - before_s);
        }
    }
    free(values);
}

int run_intervals(struct run_study *study, struct error *error)
{
    struct interval_drawing drawing = {.study = study, .n_times = study->program.n_ranks + 1};
    bool after = study->after.by_rank != NULL;
    machine_draws_init(&drawing.before, &study->before.machine, RUN_DRAWS, 1);
    if (after) /* The same seed draws the same values of a machine that is the same on both sides. */
        machine_draws_init(&drawing.after, &study->after.machine, RUN_DRAWS, 1);
    int code = 0;
    drawing.times_s = xcalloc(2 * RUN_DRAWS * drawing.n_times, sizeof *drawing.times_s);
    if (drawing.before.n > 0 || drawing.after.n > 0) {
        code = side_by_side(RUN_DRAWS, 0, replay_draw, &drawing, error);
        if (code == 0)
            find_intervals(study, &drawing);
    }
    free(drawing.times_s);
    machine_draws_release(&drawing.before);
    machine_draws_release(&drawing.after);
    return code;
}

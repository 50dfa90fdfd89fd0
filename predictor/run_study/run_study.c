/* Reads the run once and replays it as often as the questions ask for. See run_study.h. */
#include "predictor/run_study/run_study.h"

#include <math.h>

#include "share/base/memory.h"
#include "share/base/progress.h"
#include "calibrate/machine/machine_database.h"
#include "predictor/what_if/arrange.h"
#include "predictor/what_if/places.h"

/* The longest wait for a core: a tick of Linux at 250 Hz, at which one thread gives way to another. */
static const double TURN_S = 0.0027;

static void run_side_release(struct run_side *side)
{
    machine_release(&side->machine);
    placement_release(&side->placement);
    simulation_result_release(&side->result);
    FREE_ALL(side->scale, side->by_rank);
}

static int replay_side(const struct run_program *program, struct run_side *side, struct error *error)
{
    side->options.scale = side->scale;
    if (simulate(program, &side->machine, &side->placement, &side->options, &side->result, error) != 0)
        return -1;
    side->by_rank = xmalloc((program->n_ranks + 1) * sizeof *side->by_rank);
    run_parts_by_rank(program, side->result.predicted, side->by_rank);
    return 0;
}

static int make_scale(const struct run_study *study, struct run_side *side, struct error *error)
{
    const struct run_options *options = study->options;
    const struct run_program *program = &study->program;
    if (options->n_scales == 0)
        return 0;
    side->scale = xmalloc((program->n_places + 1) * sizeof *side->scale);
    bool met[MAX_SCALES] = {false};
    for (size_t place = 0; place < program->n_places; place++) {
        side->scale[place] = 1;
        for (size_t i = 0; i < options->n_scales; i++) {
            const struct run_scale *scale = &options->scales[i];
            bool meant =
                (scale->rank < 0 || scale->rank == program->places[place].rank) &&
                (scale->callsite < 0 || scale->callsite == program->sites[program->places[place].site].callsite);
            side->scale[place] *= meant ? scale->factor : 1;
            met[i] = met[i] || meant;
        }
    }
    for (size_t i = 0; i < options->n_scales; i++)
        if (!met[i])
            return error_set(
                error, "--scale-computation: %s has no %s %lld", options->trace,
                options->scales[i].rank >= 0 ? "rank" : "call site",
                (long long)(options->scales[i].rank >= 0 ? options->scales[i].rank : options->scales[i].callsite));
    return 0;
}

/* Makes the other side of a what-if: machine, places, what is changed. */
static int make_run_after(struct run_study *study, sqlite3 *database, struct error *error)
{
    const struct run_options *options = study->options;
    const struct what_if_options *asked = &options->what_if;
    struct run_side *after = &study->after;
    const char *machine = asked->machine != NULL ? asked->machine : options->machine;
    after->options = study->before.options;
    after->options.log = false;
    after->options.windows = NULL;
    after->options.ideal = options->ideal;
    if (options->no_contention) {
        after->options.law = LAW_POSTAL;
        after->options.terms &= ~(unsigned)RUN_TERM_CONTENTION;
    }
    if (machine_of_trace(options->trace, database, machine, &after->machine, error) != 0 ||
        (asked->eager_given && machine_set_eager_threshold(&after->machine, asked->eager_bytes, error) != 0))
        return -1;
    if (options->added_s > 0)
        machine_change_network(&after->machine, options->added_s, 1);
    placement_init(&after->placement, study->before.placement.n_ranks);
    if (make_scale(study, after, error) != 0)
        return -1;
    after->options.scale = after->scale;
    if (asked->best_placement)
        return run_placement_search(study, error);
    if (asked->placement == NULL)
        placement_copy(&after->placement, &study->before.placement);
    else if (places_as_told(asked->placement, &study->before.placement, &after->placement, error) != 0)
        return -1;
    return 0;
}

/* What is told of each call as the run is read: the study, and who else wants to know. */
struct study_watch {
    struct run_study *study;
    const struct run_watch *other;
};

static void note_call(void *context, const struct run_program *program, const struct run_call *call)
{
    const struct study_watch *watch = context;
    double inside_s[2];
    run_messages_inside(&call->part_s, inside_s);
    run_messages_add(&watch->study->messages, program);
    run_windows_add(&watch->study->windows, program, call, inside_s, &watch->study->messages);
    if (watch->other != NULL)
        watch->other->call(watch->other->context, program, call);
}

int run_study_open(const struct run_options *options, sqlite3 *database, const struct run_watch *watch,
                   struct run_study *study, struct error *error)
{
    struct run_side *before = &study->before;
    struct study_watch told = {study, watch};
    const struct run_watch calls = {note_call, &told};
    *study = (struct run_study){.options = options,
                                .measured = RUN_EFFICIENCIES_UNKNOWN,
                                .predicted = RUN_EFFICIENCIES_UNKNOWN,
                                .otherwise = RUN_EFFICIENCIES_UNKNOWN};
    if (machine_of_trace(options->trace, database, options->machine, &before->machine, error) != 0 ||
        whole_read(&study->whole, database, options->trace, error) != 0 ||
        run_program_read(database, options->trace, &(struct run_want){.window = &options->window, .calls = &calls},
                         &study->program, error) != 0)
        return -1;
    for (size_t i = 0; i < study->program.n_messages; i++)
        study->n_between += study->program.messages[i].src != study->program.messages[i].dst;
    run_messages_add(&study->messages, &study->program);
    run_windows_end(&study->windows, &study->program, &study->messages);
    study->measured_by_rank = xmalloc((study->program.n_ranks + 1) * sizeof *study->measured_by_rank);
    run_parts_by_rank(&study->program, study->program.measured, study->measured_by_rank);
    double inside_s = 0;
    for (size_t rank = 0; rank < study->program.n_ranks; rank++)
        inside_s += run_parts_sum(&study->measured_by_rank[rank], 0, RUN_OTHER);
    if (options->window.from.kind != RUN_BOUND_NONE && !(inside_s > 0))
        return error_set(error,
                         "%s: --from, --to: nothing of the run lies in that window; 'mpistair report' says how long it "
                         "lasted",
                         options->trace);
    before->options = (struct simulation_options){.law = options->law.law,
                                                  .turn_s = TURN_S,
                                                  .windows = &study->windows.simulated,
                                                  .terms = options->law.terms,
                                                  .topology = options->topology,
                                                  .model_collectives = options->collectives == COLLECTIVES_MODELLED};
    return places_read(options->trace, database, options->placement, &before->placement, error) != 0 ||
                   run_cached(study, error) != 0
               ? -1
               : 0;
}

int run_study_replay(struct run_study *study, struct error *error)
{
    struct run_program *program = &study->program;
    struct run_side *before = &study->before;
    before->options.log = true;
    if (replay_side(program, before, error) != 0)
        return -1;
    if (study->whole.times_known) {
        study->ideal_inside_s = xcalloc(program->n_places + 1, sizeof *study->ideal_inside_s);
        if (run_efficiencies_predict(program, before, &study->predicted, error) != 0 ||
            run_efficiencies_measure(program, before, study->measured_by_rank, &study->measured, study->ideal_inside_s,
                                     error) != 0)
            return -1;
    }
    run_blame(program, &before->options, &before->result, &study->blame);
    return 0;
}

int run_study(const struct run_options *options, sqlite3 *database, struct run_study *study, struct error *error)
{
    progress_show("replay: the program of the run");
    if (run_study_open(options, database, NULL, study, error) != 0)
        return -1;
    progress_show("replay: the run as it is");
    if (run_study_replay(study, error) != 0)
        return -1;
    progress_show("replay: sensitivity");
    if (options->sensitivity && run_sensitivity(study, error) != 0)
        return -1;
    progress_show("replay: tolerance");
    if (options->tolerance != TOLERANCE_NONE && run_tolerance(study, error) != 0)
        return -1;
    progress_show(options->what_if.asked ? "replay: what if" : "replay: intervals");
    if (!options->what_if.asked)
        return options->interval ? run_intervals(study, error) : 0;
    if (make_run_after(study, database, error) != 0 || replay_side(&study->program, &study->after, error) != 0 ||
        (study->whole.times_known &&
         run_efficiencies_predict(&study->program, &study->after, &study->otherwise, error) != 0))
        return -1;
    return options->interval ? run_intervals(study, error) : 0;
}

bool run_study_predicts(const struct run_study *study)
{
    const struct run_program *program = &study->program;
    bool predicts = study->n_between > 0, modelled = study->options->collectives == COLLECTIVES_MODELLED;
    for (size_t i = 0; modelled && !predicts && i < program->n_collectives; i++)
        predicts = program->collectives[i].n_members > 1;
    return predicts;
}

void run_study_release(struct run_study *study)
{
    run_side_release(&study->before);
    run_side_release(&study->after);
    run_blame_release(&study->blame);
    run_program_release(&study->program);
    run_messages_release(&study->messages);
    run_windows_release(&study->windows);
    FREE_ALL(study->measured_by_rank, study->ideal_inside_s, study->sensitivities, study->intervals);
}

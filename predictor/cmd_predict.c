/* Runs `mpistair predict`: turns a pattern into the times of its ranks, a recorded run into the errors of the models,
 * or a table into what computing cores and messages leave each other, what sending in parts gains, or which way between
 * GPUs is the fastest. */
#include <stdlib.h>
#include <string.h>

#include "share/base/progress.h"
#include "predictor/predict_commands.h"
#include "interpose/database/database.h"
#include "predictor/terms/interval.h"
#include "share/base/options.h"
#include "share/base/output_file.h"
#include "predictor/finegrain/predict_finegrain.h"
#include "predictor/memory/predict_memory.h"
#include "predictor/run_study/run_study.h"
#include "calibrate/machine/machine_database.h"
#include "predictor/options/predict_options.h"
#include "predictor/replay/replay.h"
#include "predictor/replay/show.h"
#include "share/base/side_by_side.h"
#include "predictor/terms/topology.h"

/* Draws machines for --interval; without it, or where the machine has no intervals, makes no draws. */
static void make_draws(const struct predict_options *options, const struct machine *machine,
                       struct machine_draws *draws)
{
    if (!options->run.interval)
        return;
    machine_draws_init(draws, machine, INTERVAL_DRAWS, 1);
    if (draws->n == 0)
        fprintf(stderr,
                "mpistair: note: the table '%s' has no confidence intervals, so times are shown without them; "
                "'mpistair calibrate' and 'machine fit' write tables with intervals\n",
                machine->name);
    else if (draws->n_open > 0)
        fprintf(stderr,
                "mpistair: note: %zu of %zu tau and bw of '%s' have no interval, or one end of it; what is missing was "
                "taken as exact\n",
                draws->n_open, draws->n_values, machine->name);
}

/* Holds what predict_model needs; predictions[options->n_models]. */
struct model_jobs {
    const struct predict_options *options;
    const struct pattern *pattern;
    const struct placement *placement;
    const struct machine *machine;
    const struct machine_draws *draws;
    struct prediction *predictions;
};

static int predict_model(void *context, size_t m, struct error *error)
{
    const struct model_jobs *jobs = context;
    const struct model_choice *model = &jobs->options->models[m];
    const struct model_options *options = &jobs->options->model;
    struct prediction *prediction = &jobs->predictions[m];
    prediction_init(prediction, jobs->placement->n_ranks);
    if (model_choice_predict(model, jobs->pattern, jobs->placement, jobs->machine, options, prediction, error) != 0)
        return -1;
    return prediction_interval(jobs->draws, model, jobs->pattern, jobs->placement, options, prediction, error);
}

static int predict_pattern_models(struct model_jobs *jobs, struct error *error)
{
    if (side_by_side(jobs->options->n_models, 0, predict_model, jobs, error) != 0)
        return -1;
    for (size_t m = 0; m < jobs->options->n_models; m++) {
        model_choice_note(&jobs->options->models[m], jobs->machine, jobs->predictions[m].extrapolated);
        model_choice_note_memory(&jobs->options->models[m], jobs->machine, &jobs->predictions[m].memory);
    }
    return 0;
}

static int predict_pattern(const struct predict_options *options, struct error *error)
{
    struct machine machine = {0};
    struct placement placement = {0};
    struct pattern pattern = {0};
    struct machine_draws draws = {0};
    struct prediction predictions[MAX_MODELS] = {0};
    struct model_jobs jobs = {options, &pattern, &placement, &machine, &draws, predictions};
    struct output_file output;
    int result = -1;
    progress_show("predict: the pattern");
    if (machine_find(options->run.machine, &machine, error) != 0 ||
        placement_read_csv(options->run.placement, &placement, error) != 0 ||
        pattern_read_csv(options->pattern, placement.n_ranks, &pattern, error) != 0)
        goto out;
    make_draws(options, &machine, &draws);
    if (predict_pattern_models(&jobs, error) != 0 || output_file_open(&output, options->run.output, error) != 0)
        goto out;
    progress_show(NULL);
    result = output_file_end(&output, show_times(output.stream, options, predictions, error), error);
out:
    for (size_t m = 0; m < options->n_models; m++)
        prediction_release(&predictions[m]);
    machine_draws_release(&draws);
    pattern_release(&pattern);
    placement_release(&placement);
    machine_release(&machine);
    return result;
}

static void note_summary(const struct predict_options *options, const struct machine *machine,
                         const struct replay_summary *summary)
{
    for (size_t m = 0; m < options->n_models; m++)
        model_choice_note(&options->models[m], machine, summary->extrapolated[m]);
    if (summary->n_kinds == 0)
        inform("note: %s holds no rounds; there is nothing to predict", options->run.trace);
    if (options->run.placement != NULL)
        return;
    if (summary->socket_unknown > 0)
        fprintf(stderr,
                "mpistair: note: the socket of %zu ranks is not known and was taken as socket 0 of their node; "
                "--placement L.csv says it\n",
                summary->socket_unknown);
    if (summary->moved > 0)
        fprintf(
            stderr,
            "mpistair: note: %zu of %zu messages were recorded at another level than the main places of their ranks "
            "give (unbound ranks?); the models used the places\n",
            summary->moved, summary->n_messages);
}

static int predict_rounds(const struct predict_options *options, struct error *error)
{
    sqlite3 *database = NULL;
    struct machine machine = {0};
    struct machine_draws draws = {0};
    struct placement placement = {0};
    struct output_file output;
    size_t extrapolated[MAX_MODELS] = {0};
    struct replay_summary summary = {.extrapolated = extrapolated};
    int result = -1;
    if (database_open(options->run.trace, true, &database, error) != 0)
        return -1;
    if (machine_of_trace(options->run.trace, database, options->run.machine, &machine, error) != 0)
        goto out;
    make_draws(options, &machine, &draws);
    if ((options->run.placement != NULL && placement_read_csv(options->run.placement, &placement, error) != 0) ||
        output_file_open(&output, options->run.output, error) != 0)
        goto out;
    const struct replay replay = {.database = database,
                                  .path = options->run.trace,
                                  .machine = &machine,
                                  .placement = options->run.placement != NULL ? &placement : NULL,
                                  .models = options->models,
                                  .n_models = options->n_models,
                                  .options = &options->model,
                                  .draws = draws.n > 0 ? &draws : NULL};
    result = replay_run(&replay, &summary, error);
    if (result == 0) {
        note_summary(options, &machine, &summary);
        progress_show("predict: errors of the models");
        result = show_errors(output.stream, options, database, machine.name, error);
    }
    result = output_file_end(&output, result, error);
out:
    machine_draws_release(&draws);
    placement_release(&placement);
    machine_release(&machine);
    sqlite3_close(database);
    return result;
}

int cmd_predict(int argc, char **argv)
{
    struct predict_options options;
    struct error error = {.text = ""};
    int result = predict_options_parse(argc, argv, &options);
    if (result != OPTIONS_READ)
        return result;
    if (options.finegrain.asked)
        return finegrain_run(&options.finegrain, options.run.machine, options.run.what_if.seed,
                             (enum output_format)options.run.format, options.run.output);
    if (options.gpu.asked)
        return gpu_run(&options.gpu, options.run.machine, (enum output_format)options.run.format, options.run.output);
    struct topology topology = {.name = ""};
    if (options.topology != NULL) {
        if (topology_find(options.topology, &topology, &error) != 0)
            return error_report(&error);
        options.run.topology = options.model.topology = &topology;
    }
    if (options.memory.asked)
        result = memory_run(&options.memory, options.run.machine, (enum output_format)options.run.format,
                            options.run.output, &error);
    else if (predict_options_story(&options))
        result = run_story(&options.run, &error);
    else
        result = options.pattern != NULL ? predict_pattern(&options, &error)
                 : options.rounds        ? predict_rounds(&options, &error)
                                         : predict_run(&options, &error);
    topology_release(&topology);
    return result == 0 ? EXIT_DONE : error_report(&error);
}

/* Reads the run as it is, once, makes the run as it would be, with what was asked changed, and runs the models on both.
 * Nothing is stored: what was not run is no part of a trace. */
#include "predictor/what_if/what_if.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/progress.h"
#include "predictor/what_if/arrange.h"
#include "interpose/database/database.h"
#include "predictor/what_if/eager.h"
#include "share/base/output_file.h"
#include "calibrate/machine/machine_database.h"
#include "predictor/what_if/places.h"
#include "predictor/what_if/rank_file.h"
#include "predictor/what_if/replay_workload.h"
#include "share/base/memory.h"

static void side_release(struct what_if_side *side)
{
    machine_release(&side->machine);
    placement_release(&side->placement);
    workload_release(&side->workload);
}

/* Reads a pattern, which is a run of one round. */
static int read_pattern(const struct predict_options *options, size_t n_ranks, struct workload *workload,
                        struct error *error)
{
    struct pattern pattern = {0};
    if (pattern_read_csv(options->pattern, n_ranks, &pattern, error) != 0)
        return -1;
    workload_init(workload, n_ranks);
    workload_add(workload, 1, 1, &pattern);
    workload->one_pattern = true;
    return 0;
}

static int read_workload(const struct predict_options *options, sqlite3 *database, const struct placement *placement,
                         struct workload *workload, struct error *error)
{
    bool post_times = false;
    for (size_t m = 0; m < options->n_models; m++)
        post_times = post_times || model_choice_post_times(&options->models[m]);
    return database != NULL ? replay_workload(database, options->run.trace, placement, post_times, workload, error)
                            : read_pattern(options, placement->n_ranks, workload, error);
}

/* Reads --placement, or what was recorded. */
static int read_places(const struct predict_options *options, sqlite3 *database, struct placement *placement,
                       struct error *error)
{
    return database != NULL ? places_read(options->run.trace, database, options->run.placement, placement, error)
                            : placement_read_csv(options->run.placement, placement, error);
}

static int find_machine(const struct predict_options *options, sqlite3 *database, const char *name,
                        struct machine *machine, struct error *error)
{
    return database != NULL ? machine_of_trace(options->run.trace, database, name, machine, error)
                            : machine_find(name, machine, error);
}

static int read_before(const struct predict_options *options, sqlite3 *database, struct what_if_side *before,
                       struct error *error)
{
    return find_machine(options, database, options->run.machine, &before->machine, error) != 0 ||
                   read_places(options, database, &before->placement, error) != 0 ||
                   read_workload(options, database, &before->placement, &before->workload, error) != 0
               ? -1
               : 0;
}

static struct workload_judge judge_of(const struct predict_options *options, size_t model,
                                      const struct what_if_side *side)
{
    return (struct workload_judge){
        .model = &options->models[model], .machine = &side->machine, .options = &options->model};
}

/* Changes everything but the placement, then the placement: the search judges by the rest. */
static int make_after(const struct predict_options *options, sqlite3 *database, struct what_if *what_if,
                      struct error *error)
{
    const struct what_if_options *asked = &options->run.what_if;
    const struct placement *before = &what_if->before.placement;
    struct what_if_side *after = &what_if->after;
    const char *machine = asked->machine != NULL ? asked->machine : options->run.machine;
    if (find_machine(options, database, machine, &after->machine, error) != 0 ||
        (asked->eager_given && machine_set_eager_threshold(&after->machine, asked->eager_bytes, error) != 0) ||
        read_workload(options, database, before, &after->workload, error) != 0 ||
        (asked->aggregate && workload_aggregate(&after->workload, error) != 0))
        return -1;
    placement_init(&after->placement, before->n_ranks);
    if (asked->placement != NULL)
        return places_as_told(asked->placement, before, &after->placement, error);
    if (!asked->best_placement) {
        placement_copy(&after->placement, before);
        return 0;
    }
    const struct placement_search search = {.workload = &after->workload,
                                            .judge = judge_of(options, 0, after),
                                            .seconds = asked->seconds,
                                            .seed = asked->seed};
    return placement_search(&search, before, &after->placement, &what_if->found, error);
}

static int predict_side(const struct predict_options *options, const struct what_if_side *side,
                        struct workload_times times[MAX_MODELS], struct error *error)
{
    for (size_t m = 0; m < options->n_models; m++) {
        const struct workload_judge judge = judge_of(options, m, side);
        times[m].rank_s = xcalloc(side->workload.n_ranks + 1, sizeof *times[m].rank_s);
        if (workload_predict(&side->workload, &side->placement, &judge, &times[m], error) != 0)
            return -1;
        model_choice_note(&options->models[m], &side->machine, times[m].extrapolated);
    }
    return 0;
}

static int run_with(const struct predict_options *options, sqlite3 *database, struct what_if *what_if,
                    struct error *error)
{
    struct output_file output;
    progress_show(options->run.what_if.best_placement ? "predict: a better placement" : "predict: what if");
    if (read_before(options, database, &what_if->before, error) != 0 ||
        make_after(options, database, what_if, error) != 0 ||
        predict_side(options, &what_if->before, what_if->before_s, error) != 0 ||
        predict_side(options, &what_if->after, what_if->after_s, error) != 0 ||
        output_file_open(&output, options->run.output, error) != 0)
        return -1;
    progress_show(NULL);
    if (what_if->before.workload.n_kinds == 0)
        inform("note: %s holds no rounds; there is nothing to predict", options->run.trace);
    if ((options->run.what_if.rank_file != NULL &&
         rank_file_write(options->run.what_if.rank_file, &what_if->after.placement, database, options->run.trace,
                         error) != 0) ||
        show_what_if(output.stream, options, what_if, error) != 0) {
        output_file_discard(&output);
        return -1;
    }
    return output_file_commit(&output, error);
}

int what_if_run(const struct predict_options *options, struct error *error)
{
    sqlite3 *database = NULL;
    struct what_if *what_if = xcalloc(1, sizeof *what_if);
    int result = options->run.trace != NULL ? database_open(options->run.trace, false, &database, error) : 0;
    if (result == 0)
        result = run_with(options, database, what_if, error);
    for (size_t m = 0; m < MAX_MODELS; m++) {
        free(what_if->before_s[m].rank_s);
        free(what_if->after_s[m].rank_s);
    }
    side_release(&what_if->before);
    side_release(&what_if->after);
    free(what_if);
    sqlite3_close(database);
    return result;
}

/* Runs `mpistair predict`: turns a pattern into the times of its ranks, a recorded run into the errors of the models,
 * or a table into what computing cores and messages leave each other, what sending in parts gains, or which way between
 * GPUs is the fastest. And `mpistair replay`: the whole run on one clock, where its time goes, what it would take
 * elsewhere. */

#include "predictor/predict_commands.h"
#include "interpose/database/database.h"
#include "predictor/run_read/node_switches.h"
#include "share/base/options.h"
#include "predictor/run_study/run_study.h"
#include "predictor/options/predict_options.h"
#include "predictor/replay/model_runs.h"
#include "predictor/terms/topology_find.h"

/* Places the nodes of a trace (NULL: none) in the topology. */
static int place_in_topology(const char *trace, struct topology *topology, struct error *error)
{
    sqlite3 *database = NULL;
    if (trace == NULL || topology->kind != TOPOLOGY_TREE)
        return 0;
    int result = database_open(trace, false, &database, error);
    if (result == 0)
        result = node_switches_place(database, trace, topology, error);
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
    enum output_format format = (enum output_format)options.run.format;
    if (table_options_asked(&options.tables) != NULL)
        return table_answer(&(struct table_question){&options.tables, options.run.machine, options.run.what_if.seed,
                                                     format, options.run.output});
    struct topology topology = {.name = ""};
    if (options.topology != NULL) {
        if (topology_find(options.topology, &topology, &error) != 0 ||
            place_in_topology(options.run.trace, &topology, &error) != 0) {
            topology_release(&topology);
            return error_report(&error);
        }
        options.run.topology = options.model.topology = &topology;
    }
    if (predict_options_story(&options))
        result = run_story(&options.run, &error);
    else
        result = options.pattern != NULL ? predict_pattern(&options, &error)
                 : options.rounds        ? predict_rounds(&options, &error)
                                         : predict_run(&options, &error);
    topology_release(&topology);
    return result == 0 ? EXIT_DONE : error_report(&error);
}

int cmd_replay(int argc, char **argv)
{
    struct run_options options;
    struct error error = {0};
    int code = run_options_parse(argc, argv, &options);
    if (code != OPTIONS_READ)
        return code;
    return run_story(&options, &error) == 0 ? EXIT_DONE : error_report(&error);
}

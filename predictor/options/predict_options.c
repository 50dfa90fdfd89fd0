/* Reads options by a table; every mistake is printed here, once, with what was expected. Papers are named as in
 * share/doc/MODELS.md. */
#include "predictor/options/predict_options.h"

#include <stdio.h>
#include <string.h>

#include "share/base/terminal.h"
#include "share/base/options.h"

static const char predict_usage[] =
    "usage: mpistair predict TRACE.db [--machine NAME|FILE] [--model LAW[,LAW]|all] [OPTIONS]\n"
    "       mpistair predict TRACE.db --rounds [--machine NAME|FILE] [--model M[,M]|all] [OPTIONS]\n"
    "       mpistair predict --pattern P.csv --placement L.csv --machine NAME|FILE [--model M[,M]|all] [OPTIONS]\n"
    "       mpistair predict --memory --machine NAME|FILE [OPTIONS]\n"
    "       mpistair predict --finegrain --machine NAME|FILE --bytes BYTES --threads N [OPTIONS]\n"
    "       mpistair predict --gpu --machine NAME|FILE --bytes BYTES [OPTIONS]\n"
    "\n"
    "Predicts the time that ranks spend in point-to-point messages. The whole run of a trace is replayed by each law "
    "of how\n"
    "messages share bandwidth; the error of each law against the measured times is printed, and stored in the trace "
    "with\n"
    "those of all ranks and call sites. --rounds takes the rounds of messages one by one, for jobs that barriers "
    "divide.\n"
    "For a pattern, the times of models are printed. A what-if, --sensitivity, --tolerance and --interval of the whole "
    "run are answered by\n"
    "one law, with the story of where its time goes, as 'mpistair replay' does.\n";

static void list_models(void)
{
    run_choice_list();
    help_text_line("\nmodels of a pattern or of rounds:");
    for (size_t i = 0; model_table[i] != NULL; i++)
        help_text_line("  %-15s  %s", model_table[i]->name, model_table[i]->summary);
    help_text_line("terms, added to any model as MODEL+TERM:");
    for (size_t i = 0; term_table[i] != NULL; i++)
        help_text_line("  %-15s  %s", term_table[i]->name, term_table[i]->summary);
}

/* Says that the name of so many bytes is none of a model. */
static int no_model(const char *name, size_t length)
{
    char wanted[64], known[256] = "";
    struct nearest nearest;
    snprintf(wanted, sizeof wanted, "%.*s", length < 40 ? (int)length : 40, name);
    const char *hint = model_hint(wanted, &nearest);
    if (hint[0] != '\0')
        return wrong_usage("predict", "--model: no model '%s'%s", wanted, hint);
    for (size_t i = 0, used = 0; model_table[i] != NULL && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s, ", model_table[i]->name);
    return wrong_usage("predict", "--model: no model '%s': expected %sor all, or MODEL+TERM", wanted, known);
}

/* Says whether models are asked for: those of a pattern, or of rounds; else laws of the whole run. */
static bool takes_models(const struct predict_options *options)
{
    return options->run.trace == NULL || options->rounds;
}

bool predict_options_story(const struct predict_options *options)
{
    const struct run_options *run = &options->run;
    return !takes_models(options) &&
           (run->what_if.asked || run->sensitivity || run->interval || run->tolerance != TOLERANCE_NONE);
}

/* Adds a model, or a law, that may be there already. */
static int add_choice(struct predict_options *options, const char *name, bool models)
{
    struct run_law_choice law;
    struct model_choice model;
    struct error error;
    bool is_model = model_choose(name, &model) == 0;
    if (models && !is_model)
        return no_model(name, strlen(name));
    if (!models && run_law_choose(name, &law, &error) != 0)
        return wrong_usage("predict", "--model: %s%s", error.text,
                           is_model ? "; it is a model of rounds: --rounds" : "");
    for (size_t i = 0; i < options->n_models; i++)
        if (strcmp(options->models[i].name, name) == 0)
            return 0;
    for (size_t i = 0; i < options->n_laws; i++)
        if (strcmp(options->laws[i].name, name) == 0)
            return 0;
    if ((models ? options->n_models : options->n_laws) == MAX_MODELS)
        return wrong_usage("predict", "--model: more than %d %s", MAX_MODELS, models ? "models" : "laws");
    if (models)
        options->models[options->n_models++] = model;
    else
        options->laws[options->n_laws++] = law;
    return 0;
}

/* Adds the models or laws of a list, names with commas between; all is one. */
static int add_list(struct predict_options *options, const char *list, bool models)
{
    int code = 0;
    for (const char *at = list; code == 0; at++) {
        char name[sizeof options->models[0].name] = "";
        size_t length = strcspn(at, ",");
        if (length >= sizeof name)
            return models ? no_model(at, length) : wrong_usage("predict", "--model: no law '%.40s...'", at);
        memcpy(name, at, length);
        bool all = strcmp(name, "all") == 0;
        for (size_t i = 0; all && code == 0 && (models ? model_table[i] != NULL : i < LAW_COUNT); i++)
            code = add_choice(options, models ? model_table[i]->name : run_law_table[i].name, models);
        if (!all)
            code = add_choice(options, name, models);
        at += length;
        if (*at == '\0')
            break;
    }
    return code;
}

/* Keeps a list until it is known what it is for. */
static int take_models(void *context, const char *list)
{
    struct predict_options *options = context;
    if (options->n_lists == MAX_LISTS)
        return wrong_usage("predict", "--model: given more than %d times", MAX_LISTS);
    options->lists[options->n_lists++] = list;
    return 0;
}

/* Reads the lists of --model as what they are for. */
static int choose_models(struct predict_options *options)
{
    bool models = takes_models(options), story = predict_options_story(options);
    int code = 0;
    if (options->n_lists == 0)
        options->lists[options->n_lists++] = story ? options->run.law.name : "all";
    for (size_t i = 0; code == 0 && i < options->n_lists; i++)
        code = add_list(options, options->lists[i], models);
    if (code == 0 && story && options->n_laws != 1)
        return wrong_usage("predict",
                           "--model: expected one law for a what-if, --sensitivity, --tolerance or --interval, got %zu",
                           options->n_laws);
    if (code == 0 && story)
        options->run.law = options->laws[0];
    return code;
}

/* Says what does not go with --memory, --finegrain or --gpu, which is called mode. latency: that option was given. */
static int check_table_alone(struct predict_options *options, const char *mode, int n_arguments, bool latency)
{
    int result = what_if_options_check(&options->run.what_if, "predict", false);
    const char *whole = run_options_whole(&options->run);
    const struct {
        const char *name;
        bool given;
    } others[] = {
        {"a trace", n_arguments > 0},
        {"--pattern", options->pattern != NULL},
        {"--placement", options->run.placement != NULL},
        {"--model", options->n_lists > 0},
        {"--rounds", options->rounds},
        {"--topology", options->topology != NULL},
        {"--latency", latency},
        {"--repetitions", options->model.repetitions > 0},
        {"--interval", options->run.interval},
        {"--what-if", options->run.what_if.asked},
        {whole, whole != NULL},
        {"--compute-cores", !options->tables.memory.asked && options->tables.memory.cores_given},
    };
    for (size_t i = 0; result == 0 && i < sizeof others / sizeof others[0]; i++)
        if (others[i].given)
            return wrong_usage("predict", "%s and %s: expected one of them, since %s takes a machine's table alone",
                               mode, others[i].name, mode);
    if (result == 0 && options->run.machine == NULL)
        return wrong_usage("predict", "%s requires --machine NAME|FILE", mode);
    return result;
}

bool predict_options_computing(const struct predict_options *options)
{
    bool asks = false;
    for (size_t m = 0; m < options->n_models; m++)
        asks = asks || options->models[m].computing;
    return asks;
}

/* Checks what the term memory asks for. */
static int check_computing(const struct predict_options *options)
{
    bool asks = predict_options_computing(options), given = options->tables.memory.cores_given;
    if (given && !asks)
        return wrong_usage("predict",
                           "--compute-cores requires --memory, or a model with +memory such as staircase+memory");
    if (asks && options->run.trace != NULL)
        return wrong_usage("predict",
                           "MODEL+memory requires --pattern; of a trace laws of the whole run know which cores "
                           "compute: LAW+memory, without --rounds");
    if (asks && options->pattern != NULL && !given)
        return wrong_usage("predict", "MODEL+memory on a pattern requires --compute-cores N, the number of cores of "
                                      "each socket that compute while messages arrive");
    return 0;
}

/* Checks what goes with models, of a pattern or of rounds. */
static int check_models_alone(struct predict_options *options)
{
    const char *whole = run_options_whole(&options->run);
    if (whole != NULL)
        return wrong_usage("predict", "%s requires a trace%s", whole, options->rounds ? " without --rounds" : "");
    int code = what_if_options_check(&options->run.what_if, "predict", false);
    if (code != 0 || !options->run.what_if.asked)
        return code;
    return wrong_usage("predict", "a change (--what-if) requires a trace%s",
                       options->rounds ? " without --rounds: the whole run is replayed with it"
                                       : "; for a pattern run the models with the other machine or placement");
}

/* Checks what goes with the whole run. latency: that option was given. */
static int check_whole_run(struct predict_options *options, bool latency)
{
    const char *rounds = latency                              ? "--latency"
                         : options->model.repetitions > 0     ? "--repetitions"
                         : options->tables.memory.cores_given ? "--compute-cores"
                                                              : NULL;
    if (rounds != NULL)
        return wrong_usage("predict", "%s requires --rounds or --pattern", rounds);
    return run_options_check(&options->run);
}

static int check_predict_options(struct predict_options *options, int n_arguments)
{
    bool routed = false, repeats = false;
    for (size_t m = 0; m < options->n_models; m++) {
        routed = routed || options->models[m].topology;
        repeats = repeats || options->models[m].model->repeats;
    }
    for (size_t i = 0; i < options->n_laws; i++)
        routed = routed || (options->laws[i].terms & RUN_TERM_CONTENTION) != 0;
    if (options->pattern == NULL && options->run.trace == NULL)
        return wrong_usage("predict", "expected a trace, or --pattern P.csv with --placement L.csv");
    if (options->pattern != NULL && options->run.trace != NULL)
        return wrong_usage("predict", "'%s' and --pattern: expected only one, a trace or a pattern",
                           options->run.trace);
    if (n_arguments > 1)
        return wrong_usage("predict", "expected one trace, got several");
    if (options->pattern != NULL && options->run.placement == NULL)
        return wrong_usage("predict", "--pattern requires --placement L.csv");
    if (options->pattern != NULL && options->run.machine == NULL)
        return wrong_usage("predict", "--pattern requires --machine NAME|FILE");
    if (options->rounds && options->run.trace == NULL)
        return wrong_usage("predict", "--rounds requires a trace");
    if (options->topology != NULL && !routed)
        return wrong_usage("predict", "--topology requires a model with +contention, such as staircase+contention");
    if (options->model.repetitions > 0 && !repeats)
        return wrong_usage("predict", "--repetitions requires --model flow or flow-window");
    return check_computing(options);
}

int predict_options_parse(int argc, char **argv, struct predict_options *options)
{
    *options = (struct predict_options){0};
    int latency = 0;
    bool latency_given = false;
    uint64_t repetitions = 0;
    enum { N_OWN = 6 };
    struct option_row rows[N_OWN + RUN_ROWS + TABLE_ROWS] = {
        {'M', "model", "M[,M]|all",
         "the laws or models, of those listed below; default: all; with a what-if, --sensitivity, --tolerance or "
         "--interval of the "
         "whole run one law, default: staircase",
         .take = take_models, .words = WORDS_MODEL},
        {0, "rounds", NULL, "take the rounds of a trace one by one, by models", .flag = &options->rounds},
        {'p', "pattern", "P.csv", "a pattern in place of a trace: columns src,dst,bytes", .text = &options->pattern},
        {0, "topology", "NAME|FILE",
         "the network for MODEL+contention: a shipped one, a .topo file, or a topology.conf of Slurm; default: an "
         "estimate for a cube of nodes",
         .text = &options->topology, .words = WORDS_TOPOLOGY},
        {0, "latency", "in|out|max",
         "the latency that a rank pays (staircase): of its incoming messages (default), its outgoing ones, or the "
         "larger of both",
         .choice = &latency, .given = &latency_given},
        {0, "repetitions", "N",
         "how often a round is repeated for flow (default 1) and flow-window (10); for a trace at most its number of "
         "rounds",
         .whole = &repetitions, .least = 1, .most = MAX_REPETITIONS},
    };
    run_option_rows("predict", &options->run, rows + N_OWN);
    table_option_rows(&options->tables, rows + N_OWN + RUN_ROWS);
    const struct option_table table = {
        "predict",          predict_usage,         rows, sizeof rows / sizeof rows[0], .list = list_models,
        .context = options, .words = {WORDS_TRACE}};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code;
    options->run.trace = argc > 0 ? argv[0] : NULL;
    options->model.latency = (enum latency_side)latency;
    options->model.repetitions = (size_t)repetitions;
    options->model.compute_cores = (double)options->tables.memory.cores;
    if (options->tables.finegrain.asked) /* its draws take the seed */
        options->run.what_if.seed_given = false;
    code = table_options_check(&options->tables);
    if (code != 0)
        return code;
    const char *mode = table_options_asked(&options->tables);
    if (mode != NULL) {
        code = check_table_alone(options, mode, argc, latency_given);
        return code == 0 ? OPTIONS_READ : code;
    }
    code = takes_models(options) ? check_models_alone(options) : check_whole_run(options, latency_given);
    if (code == 0)
        code = choose_models(options);
    if (code == 0)
        code = check_predict_options(options, argc);
    return code == 0 ? OPTIONS_READ : code;
}

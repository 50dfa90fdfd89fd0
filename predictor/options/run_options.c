/* Every mistake of the command line is printed here, once, with what was expected. */
#include "predictor/options/run_options.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/output_file.h"

static const char replay_usage[] = "usage: mpistair replay TRACE.db [--machine NAME|FILE] [OPTIONS]\n"
                                   "\n"
                                   "Replays the whole run on one clock: computation as recorded, every time inside MPI "
                                   "predicted. Prints where the time\n"
                                   "of ranks and calls goes, measured and predicted, and stores it in the trace.\n";

/* Seconds of a search; one longer than a day is a slip. */
enum { DEFAULT_SECONDS = 10, MOST_SECONDS = 86400 };

int what_if_options_check(struct what_if_options *options, const char *command, bool others)
{
    bool places = options->placement != NULL || options->best_placement;
    bool searches = options->seconds_given || options->seed_given;
    bool changes = others || places || options->machine != NULL || options->eager_given;
    options->asked = options->asked || changes || searches || options->rank_file != NULL;
    if (!options->asked)
        return 0;
    if (options->placement != NULL && options->best_placement)
        return wrong_usage(command, "--to-placement and --best-placement exclude each other");
    if (searches && !options->best_placement)
        return wrong_usage(command, "--seconds and --seed require --best-placement");
    if (options->seconds <= 0)
        return wrong_usage(command, "--seconds 0: expected more than 0");
    if (options->rank_file != NULL && options->rank_file[0] == '\0')
        return wrong_usage(command, "--rank-file: expected a prefix of file names");
    if (options->rank_file != NULL && !places)
        return wrong_usage(command, "--rank-file requires --to-placement or --best-placement");
    if (!changes)
        return wrong_usage(command,
                           "--what-if: expected a change, such as --to-machine or --best-placement (--machine and "
                           "--placement describe the run as it is)");
    return 0;
}

const char *const run_collectives_name[] = {"recorded", "modelled"};
const char *const run_buffers_name[] = {"recorded", "memory", "cached"};

static int take_run_bound(const struct run_options *options, struct run_bound *bound, const char *option,
                          const char *text)
{
    struct error error;
    return run_bound_parse(text, bound, &error) == 0 ? 0 : wrong_usage(options->command, "%s: %s", option, error.text);
}

static int take_law(void *context, const char *text)
{
    struct run_options *options = context;
    struct error error;
    return run_law_choose(text, &options->law, &error) == 0 ? 0 : wrong_usage("replay", "--law: %s", error.text);
}

static int take_run_from(void *context, const char *text)
{
    struct run_options *options = context;
    return take_run_bound(options, &options->window.from, "--from", text);
}

static int take_run_region(void *context, const char *text)
{
    run_region_parse(text, &((struct run_options *)context)->window);
    return 0;
}

static int take_run_to(void *context, const char *text)
{
    struct run_options *options = context;
    return take_run_bound(options, &options->window.to, "--to", text);
}

/* Reads FACTOR, rank:R:FACTOR or site:ID:FACTOR. */
static int take_scale(void *context, const char *text)
{
    struct run_options *options = context;
    struct run_scale scale = {.rank = -1, .callsite = -1};
    int64_t *whose = strncmp(text, "rank:", 5) == 0   ? &scale.rank
                     : strncmp(text, "site:", 5) == 0 ? &scale.callsite
                                                      : NULL;
    const char *factor = text;
    bool good = true;
    if (whose != NULL) {
        char *end;
        *whose = strtoll(text + 5, &end, 10);
        good = end != text + 5 && *end == ':' && *whose >= 0;
        factor = good ? end + 1 : text;
    }
    char *end;
    scale.factor = strtod(factor, &end);
    if (!good || end == factor || *end != '\0' || !isfinite(scale.factor) || scale.factor < 0)
        return wrong_usage(
            options->command,
            "--scale-computation %s: expected FACTOR, rank:R:FACTOR or site:ID:FACTOR, with a factor of at least 0",
            text);
    if (options->n_scales == MAX_SCALES)
        return wrong_usage(options->command, "--scale-computation: given more than %d times", MAX_SCALES);
    options->scales[options->n_scales++] = scale;
    return 0;
}

static int take_added_latency(void *context, const char *text)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    struct run_options *options = context;
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; end != text && i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].name) == 0 && value > 0 && value <= MOST_SECONDS) {
            options->added_s = value * units[i].seconds;
            return 0;
        }
    return wrong_usage(options->command,
                       "--add-latency %s: expected a time above 0 with its unit, such as 50us or 1.5ms", text);
}

static int take_tolerance(void *context, const char *text)
{
    struct run_options *options = context;
    options->tolerance = strcmp(text, "latency") == 0     ? TOLERANCE_LATENCY
                         : strcmp(text, "bandwidth") == 0 ? TOLERANCE_BANDWIDTH
                                                          : TOLERANCE_NONE;
    if (options->tolerance == TOLERANCE_NONE)
        return wrong_usage(options->command, "--tolerance %s: expected latency or bandwidth", text);
    return 0;
}

int run_options_check(struct run_options *options)
{
    bool others = options->n_scales > 0 || options->ideal.no_latency || options->ideal.no_transfer ||
                  options->no_contention || options->added_s > 0;
    if (options->ideal.no_latency && options->added_s > 0)
        return wrong_usage(options->command, "--no-latency and --add-latency exclude each other");
    return what_if_options_check(&options->what_if, options->command, others);
}

const char *run_options_whole(const struct run_options *options)
{
    const struct {
        const char *name;
        bool given;
    } whole[] = {
        {"--collectives", options->collectives != COLLECTIVES_RECORDED},
        {"--buffers", options->buffers_given},
        {"--from", options->window.from.kind != RUN_BOUND_NONE},
        {"--to", options->window.to.kind != RUN_BOUND_NONE},
        {"--sensitivity", options->sensitivity},
        {"--tolerance", options->tolerance != TOLERANCE_NONE},
        {"--scale-computation", options->n_scales > 0},
        {"--no-latency", options->ideal.no_latency},
        {"--no-transfer", options->ideal.no_transfer},
        {"--no-contention", options->no_contention},
        {"--add-latency", options->added_s > 0},
    };
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        if (whole[i].given)
            return whole[i].name;
    return NULL;
}

void run_option_rows(const char *command, struct run_options *options, struct option_row rows[RUN_ROWS])
{
    *options = (struct run_options){
        .command = command, .law = {LAW_STAIRCASE, 0, "staircase"}, .what_if = {.seconds = DEFAULT_SECONDS, .seed = 1}};
    struct what_if_options *what_if = &options->what_if;
    const struct option_row all[RUN_ROWS] = {
        {'m', "machine", "NAME|FILE",
         "machine table: a name in the trace, a shipped one ('mpistair machine list'), or a .tbl file; default: the "
         "trace's own, if it holds only one",
         .text = &options->machine, .words = WORDS_MACHINE},
        {'l', "placement", "L.csv",
         "node and socket of each rank (columns rank,node,socket), in place of the recorded ones",
         .text = &options->placement},
        {0, "interval", NULL,
         "add the intervals of times and changes that follow from the machine's intervals; 100 replays, or 200 runs of "
         "each model",
         .flag = &options->interval},
        {'f', "format", "text|csv|json", "", .choice = &options->format},
        {0, "json", NULL, "the same as --format json", .choice = &options->format, .value = FORMAT_JSON},
        {'o', "output", "FILE", "default: standard output", .text = &options->output},
        {.help = "Of the whole run:"},
        {0, "collectives", "recorded|modelled",
         "time of collectives: as recorded after the last arrival (default), or modelled by the messages of the MPI's "
         "algorithms",
         .choice = &options->collectives},
        {0, "buffers", "recorded|memory|cached",
         "which messages within a node have their buffers in caches: as many of each call site as the recorded times "
         "suggest (default), none, or all up to the table's cached_bytes",
         .choice = &options->buffers, .given = &options->buffers_given},
        {0, "from", "S|P%|mark:N|site:ID", "only the run from this time, share of it, MPI_Pcontrol(N) or call site on",
         .take = take_run_from, .words = WORDS_NONE},
        {0, "to", "S|P%|mark:N|site:ID", "only the run up to there", .take = take_run_to, .words = WORDS_NONE},
        {0, "region", "NAME[:N]",
         "only the N-th occurrence of that region on each rank; without N from the first to the last one",
         .take = take_run_region, .words = WORDS_NONE},
        {0, "sensitivity", NULL, "list the effect of each row of the table on the run time, largest first",
         .flag = &options->sensitivity},
        {0, "tolerance", "latency|bandwidth",
         "tell how much latency between nodes may be added, or how much lower bandwidth may be, until the run is 1, 5, "
         "10 % longer",
         .take = take_tolerance},
        {.help = "What if, for the whole run:"},
        {0, "scale-computation", "[rank:R:|site:ID:]FACTOR",
         "multiply the time of computation: of all, of a rank, or before a call site", .take = take_scale,
         .words = WORDS_NONE},
        {0, "no-latency", NULL, "assume a network without latency", .flag = &options->ideal.no_latency},
        {0, "no-transfer", NULL, "assume a network of infinite bandwidth", .flag = &options->ideal.no_transfer},
        {0, "no-contention", NULL, "assume that messages do not share bandwidth", .flag = &options->no_contention},
        {0, "add-latency", "TIME", "add so much to the latency between nodes, one way, such as 50us",
         .take = take_added_latency, .words = WORDS_NONE},
        {.help = "What if: predicts the run as it is, and with all these changes together; the trace is not changed:"},
        {0, "what-if", NULL, "implied by each of these changes", .flag = &what_if->asked},
        {0, "to-machine", "NAME|FILE", "another machine table", .text = &what_if->machine, .words = WORDS_MACHINE},
        {0, "to-placement", "L.csv|fill|round-robin-nodes|round-robin-sockets",
         "other places of the ranks, from a file, or the same places assigned by a rule", .text = &what_if->placement},
        {0, "best-placement", NULL, "search for an order of the ranks on their places that shortens the run",
         .flag = &what_if->best_placement},
        {0, "seconds", "S", "time limit of the search; default: 10", .real = &what_if->seconds, .most = MOST_SECONDS,
         .given = &what_if->seconds_given},
        {0, "seed", "N", "seed of the search; default: 1", .whole = &what_if->seed, .given = &what_if->seed_given},
        {0, "eager-threshold", "BYTES", "smallest size sent by rendezvous", .whole = &what_if->eager_bytes,
         .given = &what_if->eager_given},
        {0, "rank-file", "PREFIX",
         "write the new placement to PREFIX.rankfile (Open MPI), PREFIX.hosts (MPICH's hydra), PREFIX.L.csv",
         .text = &what_if->rank_file},
    };
    memcpy(rows, all, sizeof all);
}

int run_options_parse(int argc, char **argv, struct run_options *options)
{
    enum { N_OWN = 4 };
    bool memory = false;
    struct option_row rows[N_OWN + RUN_ROWS] = {
        {0, "law", "LAW[+TERM]", "how messages under way share bandwidth, of those listed below; default: staircase",
         .take = take_law, .words = WORDS_LAW},
        {0, "memory", NULL,
         "reduce the bandwidth of messages by that of ranks computing on the receiver's socket, by the machine's rows "
         "memory_...",
         .flag = &memory},
        {0, "goal", "FILE", "also write the run for LogGOPSim", .text = &options->goal},
        {0, "tit", "FILE", "also write the run as a time-independent trace for SimGrid", .text = &options->tit},
    };
    run_option_rows("replay", options, rows + N_OWN);
    const struct option_table table = {
        "replay",           replay_usage,          rows, sizeof rows / sizeof rows[0], .list = run_choice_list,
        .context = options, .words = {WORDS_TRACE}};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code;
    if (argc != 1)
        return wrong_usage("replay", "expected one trace");
    options->trace = argv[0];
    if (memory)
        run_law_add_term(&options->law, RUN_TERM_MEMORY);
    code = run_options_check(options);
    return code == 0 ? OPTIONS_READ : code;
}

/* Appends words, behind a blank where there are some already. */
static void append_words(char text[RUN_OPTIONS_BYTES], const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append_words(char text[RUN_OPTIONS_BYTES], const char *format, ...)
{
    size_t length = strlen(text);
    va_list values;
    va_start(values, format);
    if (length > 0 && length + 1 < RUN_OPTIONS_BYTES)
        text[length++] = ' ';
    vsnprintf(text + length, RUN_OPTIONS_BYTES - length, format, values);
    va_end(values);
}

static void append_bound(char text[RUN_OPTIONS_BYTES], const char *word, const struct run_bound *bound)
{
    char at[RUN_BOUND_BYTES];
    run_bound_text(bound, at);
    if (at[0] != '\0')
        append_words(text, "%s %s", word, at);
}

void run_options_text(const struct run_options *options, char text[RUN_OPTIONS_BYTES])
{
    text[0] = '\0';
    append_bound(text, "from", &options->window.from);
    append_bound(text, "to", &options->window.to);
    if (options->buffers != BUFFERS_RECORDED)
        append_words(text, "buffers %s", run_buffers_name[options->buffers]);
    if (options->placement != NULL)
        append_words(text, "placement %s", options->placement);
    if ((options->law.terms & RUN_TERM_CONTENTION) != 0 && options->topology != NULL)
        append_words(text, "topology %s", options->topology->name);
}

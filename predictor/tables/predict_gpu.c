/* Says what paths between GPUs take, and from which size on another one is faster. A prediction takes a table, neither
 * trace nor pattern; so it has a way of its own through `mpistair predict`. A reader of text asks which path to take at
 * which size; programs ask for rows. Mistakes in options are printed here, once, with what was expected. */
#include "predictor/tables/table_question.h"

#include <math.h>
#include <string.h>

#include "share/base/error.h"
#include "share/base/json.h"
#include "share/base/one_of.h"
#include "share/base/text_table.h"

enum { MOST_MESSAGES = 1000000 };

void gpu_option_rows(struct gpu_options *options, struct option_row rows[GPU_ROWS])
{
    *options = (struct gpu_options){.problem = {.messages = 1, .gpus = 1}};
    struct gpu_problem *problem = &options->problem;
    bool *own = &options->own;
    const struct option_row all[GPU_ROWS] = {
        {.help = "Paths between GPUs, in place of a trace or a pattern; --level, --bytes and --ppn (processes of a "
                 "node, which share its GPUs) apply, too:"},
        {0, "gpu", NULL, "predict this; requires --machine and --bytes", .flag = &options->asked},
        {0, "messages", "N", "number of equal messages of a GPU; default: 1", .whole = &problem->messages, .least = 1,
         .most = MOST_MESSAGES, .given = own},
        {0, "duplicate", "SHARE",
         "share of a message that all others contain, too, and that is copied once: 0 (default) to 1",
         .real = &problem->duplicate, .most = 1, .given = own},
        {0, "whole-messages", NULL, "the processes of a GPU send whole messages, each some of them, not a part of each",
         .flag = &problem->whole_messages, .given = own},
        {0, "gpus", "N", "number of GPUs of a node that send at once; default: 1", .u32 = &problem->gpus, .least = 1,
         .most = 1024, .given = own},
        {0, "path", "P[,P]", "gpudirect, 3-step, extra-message, duplicate-pointer; default: all in the table",
         .text = &options->paths_text, .given = own, .words = WORDS_NONE},
    };
    memcpy(rows, all, sizeof all);
}

static int take_asked_paths(struct gpu_options *options)
{
    options->paths_given = options->paths_text != NULL;
    for (int path = 0; path < GPU_PATH_COUNT; path++)
        options->path_asked[path] = !options->paths_given;
    const char *at = options->paths_text;
    char word[GPU_WORD_BYTES];
    while (word_next(&at, word, sizeof word)) {
        enum gpu_path found;
        if (gpu_path_parse(word, &found) != 0)
            return wrong_usage("predict",
                               "--path: no path '%s': expected gpudirect, 3-step, extra-message or duplicate-pointer",
                               word);
        options->path_asked[found] = true;
    }
    return 0;
}

int gpu_options_check(struct gpu_options *options, struct finegrain_options *shared)
{
    struct gpu_problem *problem = &options->problem;
    if (!options->asked)
        return !options->own
                   ? 0
                   : wrong_usage("predict",
                                 "--messages, --duplicate, --whole-messages, --gpus and --path require --gpu");
    if (shared->bytes == 0)
        return wrong_usage("predict", "--gpu requires --bytes BYTES, the total of all messages of a GPU");
    if (shared->bytes > 1ull << GPU_MOST_BYTES_LOG2)
        return wrong_usage("predict", "--bytes %llu: expected at most 2^%d", (unsigned long long)shared->bytes,
                           GPU_MOST_BYTES_LOG2);
    if (shared->bytes < problem->messages)
        return wrong_usage("predict", "--bytes %llu, --messages %llu: expected at least one byte per message",
                           (unsigned long long)shared->bytes, (unsigned long long)problem->messages);
    if (shared->ppn == 1)
        shared->ppn = problem->gpus;
    if (shared->ppn % problem->gpus != 0)
        return wrong_usage("predict", "--ppn %u, --gpus %u: expected equally many processes for each GPU", shared->ppn,
                           problem->gpus);
    int result = finegrain_take_level(shared);
    problem->bytes = shared->bytes;
    problem->ppn = shared->ppn;
    problem->level = shared->level;
    return result == 0 ? take_asked_paths(options) : result;
}

struct gpu_answer {
    const char *machine; /* its name */
    const struct gpu_problem *problem;
    struct gpu_costs costs;
    bool asked[GPU_PATH_COUNT];
};

static bool has_path_time(const struct gpu_answer *answer, int path)
{
    return answer->asked[path] && answer->costs.available[path];
}

static double time_s(const struct gpu_answer *answer, int path)
{
    return gpu_path_s(&answer->costs, answer->problem, (enum gpu_path)path);
}

/* Says whether two paths are worth comparing: with one process a GPU those that divide its data are 3-step again. */
static bool is_pair(const struct gpu_answer *answer, int first, int second)
{
    bool divides = answer->problem->ppn > answer->problem->gpus;
    return has_path_time(answer, first) && has_path_time(answer, second) && (divides || second < GPU_EXTRA_MESSAGE);
}

/* Finds the crossovers of every pair of paths that was asked for. Two straight lines a piece: a pair has no more of
 * them than two a piece, of which there are MOST_CROSSOVERS / 2 at most. Returns how many. */
enum { MOST_CROSSOVERS = 32, N_PAIRS = GPU_PATH_COUNT * (GPU_PATH_COUNT - 1) / 2 };
static size_t all_crossovers(const struct gpu_answer *answer, struct gpu_crossover found[N_PAIRS * MOST_CROSSOVERS])
{
    size_t n = 0;
    for (int first = 0; first < GPU_PATH_COUNT; first++)
        for (int second = first + 1; second < GPU_PATH_COUNT; second++)
            if (is_pair(answer, first, second))
                n += gpu_crossovers(&answer->costs, answer->problem, (enum gpu_path)first, (enum gpu_path)second,
                                    found + n, MOST_CROSSOVERS);
    return n;
}

static void gpu_text_rows(FILE *stream, const struct gpu_answer *answer)
{
    struct text_table *table = text_table_of("<path|time, us|<");
    for (int path = 0; path < GPU_PATH_COUNT; path++) {
        if (!answer->asked[path])
            continue;
        text_table_text(table, gpu_path_name[path]);
        if (has_path_time(answer, path)) {
            text_table_cell(table, "%.3f", time_s(answer, path) * 1e6);
            text_table_text(table, "");
        } else {
            text_table_text(table, "");
            text_table_cell(table, "not available: %s", answer->costs.reason[path].text);
        }
    }
    text_table_end(table, stream);
}

/* Says which path to take at this size. */
static void text_fastest(FILE *stream, const struct gpu_answer *answer)
{
    int best = -1;
    for (int path = 0; path < GPU_PATH_COUNT; path++)
        if (has_path_time(answer, path) && (best < 0 || time_s(answer, path) < time_s(answer, best)))
            best = path;
    fprintf(stream, "fastest: %s\n", gpu_path_name[best]);
}

static void text_crossovers(FILE *stream, const struct gpu_answer *answer)
{
    struct gpu_crossover found[N_PAIRS * MOST_CROSSOVERS];
    bool crosses[GPU_PATH_COUNT][GPU_PATH_COUNT] = {{false}};
    size_t n = all_crossovers(answer, found);
    for (size_t i = 0; i < n; i++) {
        crosses[found[i].below][found[i].above] = crosses[found[i].above][found[i].below] = true;
        fprintf(stream, "crossover: %s is faster than %s from %llu B on\n", gpu_path_name[found[i].above],
                gpu_path_name[found[i].below], (unsigned long long)found[i].bytes);
    }
    for (int first = 0; first < GPU_PATH_COUNT; first++)
        for (int second = first + 1; second < GPU_PATH_COUNT; second++)
            if (is_pair(answer, first, second) && !crosses[first][second])
                fprintf(stream, "no crossover: %s and %s\n", gpu_path_name[first], gpu_path_name[second]);
    if (answer->problem->ppn == answer->problem->gpus)
        fputs("with one process a GPU, extra-message and duplicate-pointer are 3-step; --ppn says how many there are\n",
              stream);
}

static void text_limits(FILE *stream, const struct gpu_answer *answer)
{
    const struct gpu_costs *costs = &answer->costs;
    uint64_t from = gpu_copy_pays_from(costs, answer->problem);
    if (from > 0 && has_path_time(answer, GPU_DIRECT) && has_path_time(answer, GPU_3_STEP))
        fprintf(stream, "short messages: copying to the host pays from %llu messages on\n", (unsigned long long)from);
    if (costs->cpu_limited_from > 0)
        fprintf(stream, "injection limit of a node: binds from %u processes that send large messages on\n",
                costs->cpu_limited_from);
    if (costs->gpu_limited_from > 0)
        fprintf(stream, "injection limit of a node: binds from %u GPUs on\n", costs->gpu_limited_from);
    if (costs->extrapolated)
        fputs("note: the table has no bandwidth of so many processes or GPUs; that of the nearest number was taken\n",
              stream);
}

/* Prints a table of the paths, which is the fastest, and every crossover as a sentence. */
static void gpu_show_text(FILE *stream, const struct gpu_answer *answer)
{
    const struct gpu_problem *problem = answer->problem;
    fprintf(stream,
            "machine %s, %s: %llu B of a GPU in %llu message%s, %g of each in all of them; %u GPU%s and %u process%s a "
            "node\n",
            answer->machine, level_text(problem->level), (unsigned long long)problem->bytes,
            (unsigned long long)problem->messages, problem->messages == 1 ? "" : "s", problem->duplicate, problem->gpus,
            problem->gpus == 1 ? "" : "s", problem->ppn, problem->ppn == 1 ? "" : "es");
    gpu_text_rows(stream, answer);
    text_fastest(stream, answer);
    text_crossovers(stream, answer);
    text_limits(stream, answer);
}

/* Prints path,time_s, a row a path, then crossover,BELOW,ABOVE,BYTES: ABOVE is faster from BYTES on. A path that is not
 * available has no time. With one process a GPU extra-message and duplicate-pointer are 3-step, and have no rows of
 * crossovers. */
static void gpu_show_csv(FILE *stream, const struct gpu_answer *answer)
{
    struct gpu_crossover found[N_PAIRS * MOST_CROSSOVERS];
    fputs("path,time_s\n", stream);
    for (int path = 0; path < GPU_PATH_COUNT; path++) {
        if (has_path_time(answer, path))
            fprintf(stream, "%s,%.17g\n", gpu_path_name[path], time_s(answer, path));
        else if (answer->asked[path])
            fprintf(stream, "%s,\n", gpu_path_name[path]);
    }
    size_t n = all_crossovers(answer, found);
    for (size_t i = 0; i < n; i++)
        fprintf(stream, "crossover,%s,%s,%llu\n", gpu_path_name[found[i].below], gpu_path_name[found[i].above],
                (unsigned long long)found[i].bytes);
}

static struct json *json_path(const struct gpu_answer *answer, int path)
{
    struct json *row = json_pack("{s:s}", "path", gpu_path_name[path]);
    if (has_path_time(answer, path))
        json_set(row, "time_s", json_finite(time_s(answer, path)));
    else
        json_set(row, "not_available", json_string(answer->costs.reason[path].text));
    return row;
}

/* Makes a number of what is counted from 1 on; 0 is not known. */
static struct json *json_from(uint64_t value)
{
    return value > 0 ? json_count(value) : json_null();
}

/* Prints an object: paths (time_s, or reason), crossovers, copy_pays_from_messages, and from how many processes and
 * GPUs the injection limit binds. */
static int gpu_show_json(FILE *stream, const struct gpu_answer *answer, struct error *error)
{
    struct gpu_crossover found[N_PAIRS * MOST_CROSSOVERS];
    struct json *paths = json_array(), *crossovers = json_array();
    for (int path = 0; path < GPU_PATH_COUNT; path++)
        if (answer->asked[path])
            json_add(paths, json_path(answer, path));
    size_t n = all_crossovers(answer, found);
    for (size_t i = 0; i < n; i++)
        json_add(crossovers, json_pack("{s:s, s:s, s:o}", "below", gpu_path_name[found[i].below], "above",
                                       gpu_path_name[found[i].above], "bytes", json_count(found[i].bytes)));
    return json_write(stream,
                      json_pack("{s:o, s:o, s:o, s:o, s:o}", "paths", paths, "crossovers", crossovers,
                                "copy_pays_from_messages",
                                json_from(gpu_copy_pays_from(&answer->costs, answer->problem)),
                                "injection_binds_from_processes", json_from(answer->costs.cpu_limited_from),
                                "injection_binds_from_gpus", json_from(answer->costs.gpu_limited_from)),
                      error);
}

/* Checks the processes of a node against the table, which tells the cores of a socket: two of them where it has values
 * between sockets. */
static int check_gpu_cores(const struct machine *machine, const struct gpu_problem *problem)
{
    struct machine_protocols between;
    double cores = machine_value(machine, LEVEL_COUNT, PROTOCOL_ANY, "cores", INFINITY);
    int sockets = machine_protocols(machine, LEVEL_INTER_SOCKET, &between, NULL) == 0 ? 2 : 1;
    if (problem->ppn <= sockets * cores)
        return 0;
    return wrong_usage("predict", "--ppn %u: a node of '%s' has %g cores, expected no more processes", problem->ppn,
                       machine->name, sockets * cores);
}

/* Takes out what the table lacks. Returns 0, or -1 if the user named such a path, or nothing is left. */
static int find_available(const struct gpu_options *options, struct gpu_answer *answer, struct error *error)
{
    bool any = false;
    for (int path = 0; path < GPU_PATH_COUNT; path++) {
        bool available = answer->costs.available[path];
        answer->asked[path] = options->path_asked[path];
        if (options->path_asked[path] && !available && options->paths_given)
            return error_set(error, "--path %s: %s", gpu_path_name[path], answer->costs.reason[path].text);
        any = any || (options->path_asked[path] && available);
    }
    return any ? 0 : error_set(error, "no path between GPUs: %s", answer->costs.reason[GPU_DIRECT].text);
}

static int print_gpu(FILE *stream, enum output_format format, const void *answer, struct error *error)
{
    if (format == FORMAT_JSON)
        return gpu_show_json(stream, answer, error);
    (format == FORMAT_CSV ? gpu_show_csv : gpu_show_text)(stream, answer);
    return 0;
}

int gpu_answer(const struct table_question *question, const struct machine *machine, struct error *error)
{
    const struct gpu_options *options = &question->options->gpu;
    struct gpu_answer answer = {.machine = machine->name, .problem = &options->problem};
    int code = check_gpu_cores(machine, answer.problem);
    if (code != 0)
        return code;
    gpu_costs_find(machine, answer.problem, &answer.costs);
    return find_available(options, &answer, error) != 0 ? -1 : table_print(question, print_gpu, &answer, error);
}

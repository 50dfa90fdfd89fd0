/* A reader of text asks which path to take at which size; programs ask for rows. */
#include "predictor/gpu/gpu_show.h"

#include <math.h>

#include "share/base/json.h"
#include "share/base/text_table.h"

static bool has_time(const struct gpu_answer *answer, int path)
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
    return has_time(answer, first) && has_time(answer, second) && (divides || second < GPU_EXTRA_MESSAGE);
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

static void text_rows(struct text_table *table, const struct gpu_answer *answer)
{
    text_table_column(table, "path", TEXT_LEFT);
    text_table_column(table, "time, us", TEXT_RIGHT);
    text_table_column(table, "", TEXT_LEFT);
    for (int path = 0; path < GPU_PATH_COUNT; path++) {
        if (!answer->asked[path])
            continue;
        text_table_text(table, gpu_path_name[path]);
        if (has_time(answer, path)) {
            text_table_cell(table, "%.3f", time_s(answer, path) * 1e6);
            text_table_text(table, "");
        } else {
            text_table_text(table, "");
            text_table_cell(table, "not available: %s", answer->costs.reason[path].text);
        }
    }
}

/* Says which path to take at this size. */
static void text_fastest(FILE *stream, const struct gpu_answer *answer)
{
    int best = -1;
    for (int path = 0; path < GPU_PATH_COUNT; path++)
        if (has_time(answer, path) && (best < 0 || time_s(answer, path) < time_s(answer, best)))
            best = path;
    fprintf(stream, "fastest: %s\n", gpu_path_name[best]);
}

static bool crosses(const struct gpu_crossover *found, size_t n, int first, int second)
{
    for (size_t i = 0; i < n; i++)
        if ((found[i].below == (enum gpu_path)first && found[i].above == (enum gpu_path)second) ||
            (found[i].above == (enum gpu_path)first && found[i].below == (enum gpu_path)second))
            return true;
    return false;
}

static void text_crossovers(FILE *stream, const struct gpu_answer *answer)
{
    struct gpu_crossover found[N_PAIRS * MOST_CROSSOVERS];
    size_t n = all_crossovers(answer, found);
    for (size_t i = 0; i < n; i++)
        fprintf(stream, "crossover: %s is faster than %s from %llu B on\n", gpu_path_name[found[i].above],
                gpu_path_name[found[i].below], (unsigned long long)found[i].bytes);
    for (int first = 0; first < GPU_PATH_COUNT; first++)
        for (int second = first + 1; second < GPU_PATH_COUNT; second++)
            if (is_pair(answer, first, second) && !crosses(found, n, first, second))
                fprintf(stream, "no crossover: %s and %s\n", gpu_path_name[first], gpu_path_name[second]);
    if (answer->problem->ppn == answer->problem->gpus)
        fputs("with one process a GPU, extra-message and duplicate-pointer are 3-step; --ppn says how many there are\n",
              stream);
}

static void text_limits(FILE *stream, const struct gpu_answer *answer)
{
    const struct gpu_costs *costs = &answer->costs;
    uint64_t from = gpu_copy_pays_from(costs, answer->problem);
    if (from > 0 && has_time(answer, GPU_DIRECT) && has_time(answer, GPU_3_STEP))
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

int gpu_show_text(FILE *stream, const struct gpu_answer *answer)
{
    const struct gpu_problem *problem = answer->problem;
    struct text_table *table = text_table_new();
    fprintf(stream,
            "machine %s, %s: %llu B of a GPU in %llu message%s, %g of each in all of them; %u GPU%s and %u process%s a "
            "node\n",
            answer->machine, level_text(problem->level), (unsigned long long)problem->bytes,
            (unsigned long long)problem->messages, problem->messages == 1 ? "" : "s", problem->duplicate, problem->gpus,
            problem->gpus == 1 ? "" : "s", problem->ppn, problem->ppn == 1 ? "" : "es");
    text_rows(table, answer);
    text_table_end(table, stream);
    text_fastest(stream, answer);
    text_crossovers(stream, answer);
    text_limits(stream, answer);
    return 0;
}

int gpu_show_csv(FILE *stream, const struct gpu_answer *answer)
{
    struct gpu_crossover found[N_PAIRS * MOST_CROSSOVERS];
    fputs("path,time_s\n", stream);
    for (int path = 0; path < GPU_PATH_COUNT; path++) {
        if (has_time(answer, path))
            fprintf(stream, "%s,%.17g\n", gpu_path_name[path], time_s(answer, path));
        else if (answer->asked[path])
            fprintf(stream, "%s,\n", gpu_path_name[path]);
    }
    size_t n = all_crossovers(answer, found);
    for (size_t i = 0; i < n; i++)
        fprintf(stream, "crossover,%s,%s,%llu\n", gpu_path_name[found[i].below], gpu_path_name[found[i].above],
                (unsigned long long)found[i].bytes);
    return 0;
}

static struct json *json_path(const struct gpu_answer *answer, int path)
{
    struct json *row = json_pack("{s:s}", "path", gpu_path_name[path]);
    if (has_time(answer, path))
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

int gpu_show_json(FILE *stream, const struct gpu_answer *answer, struct error *error)
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

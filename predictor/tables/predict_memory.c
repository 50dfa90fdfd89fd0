/* What cores that compute and a message that is received leave each other of the memory's bandwidth, by a machine's
 * table. A user asks by numbers that a table or a file may not have: the limits are checked and named here. The rows
 * say how much is lost; where it begins, and whether the model has the shape of what was measured, shows a chart:
 * after D Fig. 3, the message on the left axis and computation on the right one, both from n = 0 cores on. A model
 * of contention is worth what it is better than none, so each error on samples stands beside that of no contention.
 * Papers are named as in share/doc/MODELS.md. */
#include "predictor/tables/table_question.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/plot/chart.h"
#include "calibrate/samples/memory_samples.h"
#include "predictor/models/memory_contention.h"
#include "share/base/array.h"
#include "share/base/error.h"
#include "share/base/json.h"
#include "share/base/memory.h"
#include "share/base/order.h"
#include "share/base/text_table.h"

struct memory_placement {
    uint32_t computation_numa, message_numa;
};

struct memory_choice {
    uint32_t least_cores, most_cores;
    struct memory_placement *placements; /* [n_placements], all of which the model covers */
    size_t n_placements;
    size_t n_left_out; /* medians that were asked for, at placements that the model does not cover */
};

void memory_option_rows(struct memory_options *options, struct option_row rows[MEMORY_ROWS])
{
    *options = (struct memory_options){0};
    const struct option_row all[MEMORY_ROWS] = {
        {.help = "Memory bandwidth of computing cores of a socket and a message being received, in place of a trace or "
                 "a pattern:"},
        {0, "memory", NULL, "predict this; requires --machine", .flag = &options->asked},
        {0, "compute-cores", "N",
         "number of computing cores; default: a row for every number; MODEL+memory on a pattern requires it",
         .whole = &options->cores, .most = MEMORY_MAX_CORES, .given = &options->cores_given},
        {0, "comp-numa", "I",
         "NUMA node of the computation's data, from 0 on the computing socket; default: all that differ",
         .whole = &options->computation_numa, .most = MEMORY_MAX_CORES, .given = &options->computation_given},
        {0, "comm-numa", "J", "NUMA node of the message's data", .whole = &options->message_numa,
         .most = MEMORY_MAX_CORES, .given = &options->message_given},
        {0, "samples", "RAW.csv", "print the model's error on these samples, and that without contention",
         .text = &options->samples},
        {0, "plot", "FILE.html", "draw a picture per placement, with --samples also these", .text = &options->plot},
    };
    memcpy(rows, all, sizeof all);
}

int memory_options_check(const struct memory_options *options)
{
    bool own =
        options->computation_given || options->message_given || options->samples != NULL || options->plot != NULL;
    if (own && !options->asked)
        return wrong_usage("predict", "--comp-numa, --comm-numa, --samples and --plot require --memory");
    if (options->plot != NULL && options->cores_given)
        return wrong_usage("predict",
                           "--plot and --compute-cores exclude each other: a picture shows every number of cores");
    return 0;
}

static bool memory_choice_has(const struct memory_choice *choice, const struct memory_placement *placement)
{
    bool has = false;
    for (size_t i = 0; !has && i < choice->n_placements; i++)
        has = choice->placements[i].computation_numa == placement->computation_numa &&
              choice->placements[i].message_numa == placement->message_numa;
    return has;
}

/* Adds a placement that the model covers and that is not there. */
static void choice_add(const struct memory_model *model, uint32_t computation_numa, uint32_t message_numa,
                       struct memory_choice *choice)
{
    const struct memory_placement placement = {computation_numa, message_numa};
    if (memory_model_covers(model, "", computation_numa, message_numa, NULL) == 0 &&
        !memory_choice_has(choice, &placement))
        ARRAY_ADD(choice->placements, choice->n_placements, placement);
}

/* Adds the placements that the model tells apart (D7, D8): each side, and neighbours there. */
static void add_told_apart(const struct memory_model *model, struct memory_choice *choice)
{
    uint32_t remote = model->numa_nodes;
    const uint32_t all[6][2] = {{0, 0}, {0, 1}, {0, remote}, {remote, 0}, {remote, remote}, {remote, remote + 1}};
    for (size_t i = 0; i < 6; i++)
        if (remote > 1 || (i != 1 && i != 5))
            choice_add(model, all[i][0], all[i][1], choice);
}

/* Adds all pairs of the NUMA nodes that the options name, `nodes` being those of the machine. */
static int add_asked(const struct memory_model *model, const char *name, const struct memory_options *options,
                     uint32_t nodes, struct memory_choice *choice, struct error *error)
{
    uint32_t computation = (uint32_t)options->computation_numa, message = (uint32_t)options->message_numa;
    bool both = options->computation_given && options->message_given;
    for (uint32_t i = 0; i < (both ? 1 : nodes); i++)
        choice_add(model, options->computation_given ? computation : i, options->message_given ? message : i, choice);
    return choice->n_placements > 0
               ? 0
               : memory_model_covers(model, name, options->computation_given ? computation : message,
                                     options->message_given ? message : computation, error);
}

static int check_nodes(const struct memory_model *model, const char *name, const struct memory_options *options,
                       uint32_t nodes, struct error *error)
{
    bool computation = options->computation_given && options->computation_numa >= nodes;
    if (!computation && !(options->message_given && options->message_numa >= nodes))
        return 0;
    return error_set(error, "%s %llu: machine '%s' has the NUMA nodes 0 to %u, %u on each socket",
                     computation ? "--comp-numa" : "--comm-numa",
                     (unsigned long long)(computation ? options->computation_numa : options->message_numa), name,
                     nodes - 1, model->numa_nodes);
}

static int check_memory_cores(const struct memory_model *model, const char *name, const struct memory_options *options,
                              struct error *error)
{
    if (!options->cores_given ||
        (options->cores <= MEMORY_MAX_CORES && (model->cores == 0 || options->cores <= model->cores)))
        return 0;
    return error_set(error,
                     "--compute-cores %llu: the model covers the cores of one socket, of which machine '%s' has %u",
                     (unsigned long long)options->cores, name, model->cores);
}

/* Takes the number of cores that the options say, else 1 to all. */
static int choose_cores(const struct memory_model *model, const char *name, const struct memory_options *options,
                        struct memory_choice *choice, struct error *error)
{
    if (!options->cores_given && model->cores == 0)
        return error_set(
            error, "machine '%s' has no row `any any cores - N 1`: add it, or give a number with --compute-cores N",
            name);
    choice->least_cores = options->cores_given ? (uint32_t)options->cores : 1;
    choice->most_cores = options->cores_given ? choice->least_cores : model->cores;
    return check_memory_cores(model, name, options, error);
}

/* Takes what the options say; of placements that the model does not tell apart one, but where an option names one NUMA
 * node, all pairs with it. Returns 0, or -1 with the
 * reason: beyond the cores or NUMA nodes of the machine, which is called name. */
static int memory_choice_make(const struct memory_model *model, const char *name, const struct memory_options *options,
                              struct memory_choice *choice, struct error *error)
{
    uint32_t nodes = 2 * model->numa_nodes;
    *choice = (struct memory_choice){0};
    if (choose_cores(model, name, options, choice, error) != 0 || check_nodes(model, name, options, nodes, error) != 0)
        return -1;
    if (options->computation_given || options->message_given)
        return add_asked(model, name, options, nodes, choice, error);
    add_told_apart(model, choice);
    return 0;
}

static bool is_asked(const struct memory_options *options, const struct memory_place *place)
{
    return (!options->cores_given || options->cores == place->n) &&
           (!options->computation_given || options->computation_numa == place->computing_numa) &&
           (!options->message_given || options->message_numa == place->message_numa);
}

/* Takes what was measured together, as far as the options ask for it and the model covers it. Returns 0, or -1 with the
 * reason: the samples, of the file path, are those of another machine, or nothing is left. */
static int memory_choice_measured(const struct memory_model *model, const char *name,
                                  const struct memory_options *options, const char *path,
                                  const struct memory_samples *samples, struct memory_choice *choice,
                                  struct error *error)
{
    *choice = (struct memory_choice){.least_cores = UINT32_MAX};
    if (samples->numa_nodes != model->numa_nodes || (model->cores > 0 && samples->cores != model->cores))
        return error_set(error,
                         "%s: sockets of %u cores and %u NUMA nodes, but machine '%s' has %u and %u: expected the "
                         "samples of that machine",
                         path, samples->cores, samples->numa_nodes, name, model->cores, model->numa_nodes);
    if (samples->cpu_copy != model->cpu_copy)
        return error_set(error,
                         "%s: method %s, but the table of machine '%s' is of %s: expected the samples of that table",
                         path, samples->cpu_copy ? "cpu-copy" : "nic", name,
                         model->cpu_copy ? "copies by a processor (cpu-copy)" : "messages from the network (nic)");
    if (check_memory_cores(model, name, options, error) != 0 ||
        check_nodes(model, name, options, samples->numa_all, error) != 0)
        return -1;
    for (size_t i = 0; i < samples->n_points; i++) {
        const struct memory_place *place = &samples->points[i].place;
        if ((place->variant != MEMORY_COMPUTATION && place->variant != MEMORY_MESSAGE) || !is_asked(options, place))
            continue;
        if (memory_model_covers(model, name, place->computing_numa, place->message_numa, NULL) != 0) {
            choice->n_left_out++;
            continue;
        }
        choice_add(model, place->computing_numa, place->message_numa, choice);
        choice->least_cores = place->n < choice->least_cores ? place->n : choice->least_cores;
        choice->most_cores = place->n > choice->most_cores ? place->n : choice->most_cores;
    }
    if (choice->n_placements == 0)
        return error_set(error,
                         "%s: nothing was measured together (computation, message) that was asked for and that machine "
                         "'%s' covers",
                         path, name);
    return 0;
}

/* Placements of which a table is made (both data in NUMA node 0, both in the first one of the other socket), the
 * others, and all: three lines for the message, three for computation, and their average. */
enum { ON_SAMPLES, OFF_SAMPLES, ON_ALL, MESSAGE_LINES = 0, COMPUTATION_LINES = 3, AVERAGE_LINE = 6, MAPE_LINES };

/* Means of |measured - modelled| / measured, as shares; NaN without points. */
struct memory_mape {
    const char *of, *placements;
    double model;
    double no_contention; /* each has what the model gives it alone */
    size_t n_points;      /* medians of a number of cores and a placement */
};

static void mape_add(struct memory_mape *mape, double measured, double modelled, double alone)
{
    mape->model += fabs(measured - modelled) / measured;
    mape->no_contention += fabs(measured - alone) / measured;
    mape->n_points++;
}

/* Turns sums into means. */
static void sums_to_means(struct memory_mape *mape)
{
    mape->model = mape->n_points > 0 ? mape->model / (double)mape->n_points : NAN;
    mape->no_contention = mape->n_points > 0 ? mape->no_contention / (double)mape->n_points : NAN;
}

static void add_point(const struct memory_model *model, const struct memory_point *point,
                      struct memory_mape mapes[MAPE_LINES])
{
    const struct memory_place *place = &point->place;
    bool message = place->variant == MEMORY_MESSAGE, same = place->computing_numa == place->message_numa;
    bool sample = same && (place->message_numa == 0 || place->message_numa == model->numa_nodes);
    struct memory_mape *of = &mapes[message ? MESSAGE_LINES : COMPUTATION_LINES];
    struct memory_bandwidth b;
    memory_predict(model, place->n, place->computing_numa, place->message_numa, &b);
    double modelled = message ? b.message : b.computation, alone = message ? b.message_alone : b.computation_alone;
    mape_add(&of[sample ? ON_SAMPLES : OFF_SAMPLES], point->bytes_per_s, modelled, alone);
    mape_add(&of[ON_ALL], point->bytes_per_s, modelled, alone);
}

static void memory_mapes_compute(const struct memory_model *model, const struct memory_samples *samples,
                                 const struct memory_choice *choice, struct memory_mape mapes[MAPE_LINES])
{
    static const char *const placements[] = {"samples", "non-samples", "all"};
    for (size_t i = 0; i < AVERAGE_LINE; i++)
        mapes[i] = (struct memory_mape){.of = i < COMPUTATION_LINES ? "communication" : "computation",
                                        .placements = placements[i % COMPUTATION_LINES]};
    for (size_t i = 0; i < samples->n_points; i++) {
        const struct memory_place *place = &samples->points[i].place;
        const struct memory_placement placement = {place->computing_numa, place->message_numa};
        if (place->variant != MEMORY_COMPUTATION && place->variant != MEMORY_MESSAGE)
            continue;
        if (memory_choice_has(choice, &placement) && place->n >= choice->least_cores && place->n <= choice->most_cores)
            add_point(model, &samples->points[i], mapes);
    }
    for (size_t i = 0; i < AVERAGE_LINE; i++)
        sums_to_means(&mapes[i]);
    const struct memory_mape *message = &mapes[MESSAGE_LINES + ON_ALL];
    const struct memory_mape *computation = &mapes[COMPUTATION_LINES + ON_ALL];
    mapes[AVERAGE_LINE] =
        (struct memory_mape){.of = "average",
                             .placements = "all",
                             .model = (message->model + computation->model) / 2,
                             .no_contention = (message->no_contention + computation->no_contention) / 2,
                             .n_points = message->n_points + computation->n_points};
}

static void memory_mapes_show_text(FILE *stream, const struct memory_mape mapes[MAPE_LINES], const char *name)
{
    struct text_table *table = text_table_of("<bandwidth of|<placements|model|no contention|medians");
    for (const struct memory_mape *line = mapes; line < mapes + MAPE_LINES; line++) {
        text_table_text(table, line->of);
        text_table_text(table, line->placements);
        text_table_real(table, 100 * line->model, 2, " %");
        text_table_real(table, 100 * line->no_contention, 2, " %");
        text_table_cell(table, "%zu", line->n_points);
    }
    fprintf(stream, "machine %s: mean absolute percentage error of what was measured together\n", name);
    text_table_end(table, stream);
    fputs("samples: the placements that a table is made of; no contention: the model's own\n"
          "bandwidths alone, in the place of those together\n",
          stream);
}

static int memory_mapes_show_rows(FILE *stream, const struct memory_mape mapes[MAPE_LINES], const char *name, bool csv,
                                  struct error *error)
{
    struct json_rows rows = {.stream = stream, .csv = csv};
    for (const struct memory_mape *line = mapes; line < mapes + MAPE_LINES; line++)
        json_rows_add(&rows, json_pack("{ss ss ss so so so}", "machine", name, "of", line->of, "placements",
                                       line->placements, "mape", json_finite(line->model), "mape_no_contention",
                                       json_finite(line->no_contention), "points", json_count(line->n_points)));
    return json_rows_end(&rows, error);
}

struct memory_row {
    uint32_t cores;
    struct memory_placement at;
    struct memory_bandwidth is;
};

/* Goes on to the next row; begin with {0} and i 0. Returns false behind the last. */
static bool next(const struct memory_model *model, const struct memory_choice *choice, size_t *i,
                 struct memory_row *row)
{
    size_t cores = choice->least_cores + *i / choice->n_placements;
    if (cores > choice->most_cores)
        return false;
    row->cores = (uint32_t)cores;
    row->at = choice->placements[*i % choice->n_placements];
    memory_predict(model, row->cores, row->at.computation_numa, row->at.message_numa, &row->is);
    ++*i;
    return true;
}

static void text_row(struct text_table *table, const struct memory_model *model, const struct memory_row *row)
{
    const double rates[] = {row->is.computation, row->is.computation_alone, row->is.message, row->is.message_alone};
    const uint32_t nodes[] = {row->at.computation_numa, row->at.message_numa};
    text_table_cell(table, "%u", row->cores);
    for (size_t i = 0; i < 2; i++)
        text_table_cell(table, "%u, %s", nodes[i], nodes[i] >= model->numa_nodes ? "remote" : "local");
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        text_table_cell(table, "%.1f", rates[i] * 1e-6);
}

/* Prints text, in MB/s; name is that of the machine. */
static void memory_show_text(FILE *stream, const struct memory_model *model, const char *name,
                             const struct memory_choice *choice)
{
    struct text_table *table = text_table_of("cores|<computed on|<received in|computation|alone|message|alone");
    struct memory_row row;
    for (size_t i = 0; next(model, choice, &i, &row);)
        text_row(table, model, &row);
    fprintf(stream, "machine %s: memory bandwidth, MB/s, of cores and of a message\n", name);
    text_table_end(table, stream);
}

/* Prints the same in B/s, with all digits, as CSV or JSON. */
static int memory_show_rows(FILE *stream, const struct memory_model *model, const struct memory_choice *choice,
                            bool csv, struct error *error)
{
    struct json_rows lines = {.stream = stream, .csv = csv};
    struct json *rows = json_array();
    struct memory_row row;
    for (size_t i = 0; next(model, choice, &i, &row);) {
        struct json *object =
            json_pack("{s:i, s:i, s:i, s:f, s:f, s:f, s:f}", "computing_cores", (int)row.cores, "computation_numa",
                      (int)row.at.computation_numa, "message_numa", (int)row.at.message_numa, "computation_bytes_per_s",
                      row.is.computation, "computation_alone_bytes_per_s", row.is.computation_alone,
                      "message_bytes_per_s", row.is.message, "message_alone_bytes_per_s", row.is.message_alone);
        if (csv)
            json_rows_add(&lines, object);
        else
            json_add(rows, object);
    }
    if (!csv)
        return json_write(stream, rows, error);
    json_release(rows);
    return json_rows_end(&lines, error);
}

struct memory_drawing {
    struct charts charts;
    const struct memory_model *model;
    const struct memory_samples *samples; /* NULL: none */
    uint32_t cores;
};

/* Begins a series of the message, on the left axis, or of computation. */
static void series_begin(struct memory_drawing *drawing, bool message, bool alone, bool measured)
{
    const struct chart_style style = {.colour = message ? CHART_BLUE : CHART_RED,
                                      .points = measured,
                                      .hollow = measured && alone,
                                      .line = !measured,
                                      .dashed = !measured && alone,
                                      .right = !message};
    chart_series(&drawing->charts, &style, "%s%s, %s", message ? "message" : "computation", alone ? " alone" : "",
                 measured ? "measured" : "model");
}

static void draw_model(struct memory_drawing *drawing, const struct memory_placement *at, bool message, bool alone)
{
    series_begin(drawing, message, alone, false);
    for (uint32_t n = 0; n <= drawing->cores; n++) {
        struct memory_bandwidth b;
        memory_predict(drawing->model, n, at->computation_numa, at->message_numa, &b);
        double together = message ? b.message : b.computation,
               by_itself = message ? b.message_alone : b.computation_alone;
        chart_point(&drawing->charts, n, alone ? by_itself : together);
    }
}

/* Draws the medians of a variant that were measured at the placement, with their intervals. */
static void draw_measured(struct memory_drawing *drawing, const struct memory_placement *at,
                          enum memory_variant variant)
{
    for (size_t i = 0; drawing->samples != NULL && i < drawing->samples->n_points; i++) {
        const struct memory_point *point = &drawing->samples->points[i];
        const struct memory_place *place = &point->place;
        if (place->variant != variant ||
            (place->computing_numa != MEMORY_NO_DATA && place->computing_numa != at->computation_numa) ||
            (place->message_numa != MEMORY_NO_DATA && place->message_numa != at->message_numa))
            continue;
        series_begin(drawing, variant == MEMORY_MESSAGE || variant == MEMORY_MESSAGE_ALONE,
                     variant == MEMORY_MESSAGE_ALONE || variant == MEMORY_COMPUTATION_ALONE, true);
        chart_interval(&drawing->charts, place->n, point->bytes_per_s, point->low, point->high);
    }
}

static void draw_placement(struct memory_drawing *drawing, const struct memory_placement *at)
{
    uint32_t remote = drawing->model->numa_nodes;
    bool sample = at->computation_numa == at->message_numa && (at->message_numa == 0 || at->message_numa == remote);
    char title[128];
    const struct chart_panel panel = {.title = title,
                                      .caption = "Bandwidth of the message on the left axis, of computation on the "
                                                 "right one. Lines are the model.",
                                      .x = {"computing cores, n", "", false},
                                      .y = {"message", "B/s", false},
                                      .right = {"computation", "B/s", false}};
    snprintf(title, sizeof title, "computation in NUMA node %u (%s), message in %u (%s)%s", at->computation_numa,
             at->computation_numa >= remote ? "remote" : "local", at->message_numa,
             at->message_numa >= remote ? "remote" : "local", sample ? ": made the table" : "");
    chart_panel(&drawing->charts, &panel);
    for (int message = 1; message >= 0; message--)
        for (int alone = 0; alone < 2; alone++)
            draw_model(drawing, at, message == 1, alone == 1);
    draw_measured(drawing, at, MEMORY_MESSAGE);
    draw_measured(drawing, at, MEMORY_MESSAGE_ALONE);
    draw_measured(drawing, at, MEMORY_COMPUTATION);
    draw_measured(drawing, at, MEMORY_COMPUTATION_ALONE);
}

/* Orders by the NUMA node of the message, then by that of computation. */
static int compare_placements(const void *a, const void *b)
{
    const struct memory_placement *x = a, *y = b;
    int order = ORDER(x->message_numa, y->message_numa);
    return order != 0 ? order : ORDER(x->computation_numa, y->computation_numa);
}

/* Draws the placements of the choice and, where samples is not NULL, the medians of what was measured there. */
static int plot(const struct machine *machine, const struct memory_model *model, const struct memory_choice *choice,
                const struct memory_samples *samples, const char *path, struct error *error)
{
    struct memory_drawing drawing = {.charts = {.common = true},
                                     .model = model,
                                     .samples = samples,
                                     .cores = model->cores > 0 ? model->cores : choice->most_cores};
    struct memory_placement *sorted = xcalloc(choice->n_placements, sizeof *sorted);
    for (size_t i = 0; i < choice->n_placements; i++)
        sorted[i] = choice->placements[i];
    qsort(sorted, choice->n_placements, sizeof *sorted, compare_placements);
    for (size_t i = 0; i < choice->n_placements; i++)
        draw_placement(&drawing, &sorted[i]);
    free(sorted);
    return charts_write(&drawing.charts, machine->name, machine->source, "nothing to draw: no placement", path, error);
}

/* Holds what is predicted, and what it is held against. */
struct memory_job {
    const struct memory_options *options;
    const struct machine *machine;
    struct memory_model model;
    struct memory_samples samples; /* empty without --samples */
    struct memory_choice choice;
};

static int print_memory_rows(FILE *stream, enum output_format format, const void *answer, struct error *error)
{
    const struct memory_job *job = answer;
    if (format != FORMAT_TEXT)
        return memory_show_rows(stream, &job->model, &job->choice, format == FORMAT_CSV, error);
    memory_show_text(stream, &job->model, job->machine->name, &job->choice);
    return 0;
}

static int print_mapes(FILE *stream, enum output_format format, const void *answer, struct error *error)
{
    const struct memory_job *job = answer;
    struct memory_mape mapes[MAPE_LINES];
    memory_mapes_compute(&job->model, &job->samples, &job->choice, mapes);
    if (job->choice.n_left_out > 0)
        inform("note: %zu medians of %s are of placements for which the table of '%s' lacks a side; they were left out",
               job->choice.n_left_out, job->options->samples, job->machine->name);
    if (format != FORMAT_TEXT)
        return memory_mapes_show_rows(stream, mapes, job->machine->name, format == FORMAT_CSV, error);
    memory_mapes_show_text(stream, mapes, job->machine->name);
    return 0;
}

static int choose(struct memory_job *job, struct error *error)
{
    const struct memory_options *options = job->options;
    const char *name = job->machine->name;
    if (options->samples == NULL)
        return memory_choice_make(&job->model, name, options, &job->choice, error);
    if (memory_samples_read_csv(options->samples, &job->samples, error) != 0)
        return -1;
    return memory_choice_measured(&job->model, name, options, options->samples, &job->samples, &job->choice, error);
}

static int answer(struct memory_job *job, const struct table_question *question, struct error *error)
{
    const struct memory_options *options = job->options;
    const struct memory_samples *samples = options->samples != NULL ? &job->samples : NULL;
    if (memory_model_read(job->machine, &job->model, error) != 0 || choose(job, error) != 0)
        return -1;
    if (job->model.cpu_copy)
        inform("note: the table of '%s' was measured with messages that a processor copied (cpu-copy): it applies only "
               "to messages within a node",
               job->machine->name);
    if (options->plot != NULL && plot(job->machine, &job->model, &job->choice, samples, options->plot, error) != 0)
        return -1;
    if (options->plot != NULL && strcmp(options->plot, "-") == 0)
        return 0;
    return table_print(question, samples != NULL ? print_mapes : print_memory_rows, job, error);
}

int memory_answer(const struct table_question *question, const struct machine *machine, struct error *error)
{
    struct memory_job job = {.options = &question->options->memory, .machine = machine};
    int result = answer(&job, question, error);
    free(job.choice.placements);
    memory_samples_release(&job.samples);
    return result;
}

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

/* What is asked, of which table, and for which cores and placements that is answered. */
struct memory_job {
    const struct memory_options *options;
    const struct machine *machine;
    struct memory_model model;
    struct memory_samples samples; /* empty without --samples */
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

static bool has_placement(const struct memory_job *job, uint32_t computation_numa, uint32_t message_numa)
{
    bool has = false;
    for (size_t i = 0; !has && i < job->n_placements; i++)
        has =
            job->placements[i].computation_numa == computation_numa && job->placements[i].message_numa == message_numa;
    return has;
}

/* Says whether the table has the sides that data there ask for. Returns 0, or -1 with the reason. */
static int covers(const struct memory_job *job, uint32_t computation_numa, uint32_t message_numa, struct error *error)
{
    return memory_model_covers(&job->model, job->machine->name, computation_numa, message_numa, error);
}

/* Adds a placement that the model covers and that is not there. */
static void add_placement(struct memory_job *job, uint32_t computation_numa, uint32_t message_numa)
{
    if (covers(job, computation_numa, message_numa, NULL) == 0 && !has_placement(job, computation_numa, message_numa))
        ARRAY_ADD(job->placements, job->n_placements, (struct memory_placement){computation_numa, message_numa});
}

/* Adds the placements that the model tells apart (D7, D8): each side, and neighbours there. */
static void add_told_apart(struct memory_job *job)
{
    uint32_t remote = job->model.numa_nodes;
    const uint32_t all[6][2] = {{0, 0}, {0, 1}, {0, remote}, {remote, 0}, {remote, remote}, {remote, remote + 1}};
    for (size_t i = 0; i < 6; i++)
        if (remote > 1 || (i != 1 && i != 5))
            add_placement(job, all[i][0], all[i][1]);
}

/* Adds all pairs of the NUMA nodes that the options name, `nodes` being those of the machine. */
static int add_asked(struct memory_job *job, uint32_t nodes, struct error *error)
{
    const struct memory_options *options = job->options;
    uint32_t computation = (uint32_t)options->computation_numa, message = (uint32_t)options->message_numa;
    bool both = options->computation_given && options->message_given;
    for (uint32_t i = 0; i < (both ? 1 : nodes); i++)
        add_placement(job, options->computation_given ? computation : i, options->message_given ? message : i);
    return job->n_placements > 0 ? 0
                                 : covers(job, options->computation_given ? computation : message,
                                          options->message_given ? message : computation, error);
}

/* Checks what the options name against the cores of a socket and the NUMA nodes of the machine. */
static int check_asked(const struct memory_job *job, uint32_t nodes, struct error *error)
{
    const struct memory_options *options = job->options;
    uint32_t cores = job->model.cores;
    bool computation = options->computation_given && options->computation_numa >= nodes;
    if (options->cores_given && (options->cores > MEMORY_MAX_CORES || (cores > 0 && options->cores > cores)))
        return error_set(error,
                         "--compute-cores %llu: the model covers the cores of one socket, of which machine '%s' has %u",
                         (unsigned long long)options->cores, job->machine->name, cores);
    if (computation || (options->message_given && options->message_numa >= nodes))
        return error_set(error, "%s %llu: machine '%s' has the NUMA nodes 0 to %u, %u on each socket",
                         computation ? "--comp-numa" : "--comm-numa",
                         (unsigned long long)(computation ? options->computation_numa : options->message_numa),
                         job->machine->name, nodes - 1, job->model.numa_nodes);
    return 0;
}

/* Takes what the options say: a number of cores, else 1 to all; of placements that the model does not tell apart one,
 * but where an option names one NUMA node, all pairs with it. Returns 0, or -1 with the reason: beyond the cores or
 * NUMA nodes of the machine. */
static int choose_told(struct memory_job *job, struct error *error)
{
    const struct memory_options *options = job->options;
    uint32_t nodes = 2 * job->model.numa_nodes;
    if (!options->cores_given && job->model.cores == 0)
        return error_set(
            error, "machine '%s' has no row `any any cores - N 1`: add it, or give a number with --compute-cores N",
            job->machine->name);
    job->least_cores = options->cores_given ? (uint32_t)options->cores : 1;
    job->most_cores = options->cores_given ? job->least_cores : job->model.cores;
    if (check_asked(job, nodes, error) != 0)
        return -1;
    if (options->computation_given || options->message_given)
        return add_asked(job, nodes, error);
    add_told_apart(job);
    return 0;
}

static bool is_asked(const struct memory_options *options, const struct memory_place *place)
{
    return (place->variant == MEMORY_COMPUTATION || place->variant == MEMORY_MESSAGE) &&
           (!options->cores_given || options->cores == place->n) &&
           (!options->computation_given || options->computation_numa == place->computing_numa) &&
           (!options->message_given || options->message_numa == place->message_numa);
}

/* Takes what was measured together, as far as the options ask for it and the model covers it. Returns 0, or -1 with the
 * reason: the samples are those of another machine, or nothing is left. */
static int choose_measured(struct memory_job *job, struct error *error)
{
    const struct memory_model *model = &job->model;
    const struct memory_samples *samples = &job->samples;
    const char *path = job->options->samples, *name = job->machine->name;
    job->least_cores = UINT32_MAX;
    if (memory_samples_read_csv(path, &job->samples, error) != 0)
        return -1;
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
    if (check_asked(job, samples->numa_all, error) != 0)
        return -1;
    for (size_t i = 0; i < samples->n_points; i++) {
        const struct memory_place *place = &samples->points[i].place;
        if (!is_asked(job->options, place))
            continue;
        if (covers(job, place->computing_numa, place->message_numa, NULL) != 0) {
            job->n_left_out++;
            continue;
        }
        add_placement(job, place->computing_numa, place->message_numa);
        job->least_cores = place->n < job->least_cores ? place->n : job->least_cores;
        job->most_cores = place->n > job->most_cores ? place->n : job->most_cores;
    }
    if (job->n_placements == 0)
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

static void memory_mapes_compute(const struct memory_job *job, struct memory_mape mapes[MAPE_LINES])
{
    static const char *const placements[] = {"samples", "non-samples", "all"};
    for (size_t i = 0; i < AVERAGE_LINE; i++)
        mapes[i] = (struct memory_mape){.of = i < COMPUTATION_LINES ? "communication" : "computation",
                                        .placements = placements[i % COMPUTATION_LINES]};
    for (size_t i = 0; i < job->samples.n_points; i++) {
        const struct memory_place *place = &job->samples.points[i].place;
        if ((place->variant == MEMORY_COMPUTATION || place->variant == MEMORY_MESSAGE) &&
            has_placement(job, place->computing_numa, place->message_numa) && place->n >= job->least_cores &&
            place->n <= job->most_cores)
            add_point(&job->model, &job->samples.points[i], mapes);
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

/* Goes on to the next row; begin with i 0. Returns false behind the last. */
static bool next(const struct memory_job *job, size_t *i, struct memory_row *row)
{
    size_t cores = job->least_cores + *i / job->n_placements;
    if (cores > job->most_cores)
        return false;
    row->cores = (uint32_t)cores;
    row->at = job->placements[*i % job->n_placements];
    memory_predict(&job->model, row->cores, row->at.computation_numa, row->at.message_numa, &row->is);
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

/* Prints text, in MB/s. */
static void memory_show_text(FILE *stream, const struct memory_job *job)
{
    struct text_table *table = text_table_of("cores|<computed on|<received in|computation|alone|message|alone");
    struct memory_row row;
    for (size_t i = 0; next(job, &i, &row);)
        text_row(table, &job->model, &row);
    fprintf(stream, "machine %s: memory bandwidth, MB/s, of cores and of a message\n", job->machine->name);
    text_table_end(table, stream);
}

/* Prints the same in B/s, with all digits, as CSV or JSON. */
static int memory_show_rows(FILE *stream, const struct memory_job *job, bool csv, struct error *error)
{
    struct json_rows lines = {.stream = stream, .csv = csv};
    struct json *rows = json_array();
    struct memory_row row;
    for (size_t i = 0; next(job, &i, &row);) {
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
    const struct memory_job *job;
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
        memory_predict(&drawing->job->model, n, at->computation_numa, at->message_numa, &b);
        double together = message ? b.message : b.computation,
               by_itself = message ? b.message_alone : b.computation_alone;
        chart_point(&drawing->charts, n, alone ? by_itself : together);
    }
}

/* Draws the medians of a variant that were measured at the placement, with their intervals. */
static void draw_measured(struct memory_drawing *drawing, const struct memory_placement *at,
                          enum memory_variant variant)
{
    const struct memory_samples *samples = &drawing->job->samples;
    for (size_t i = 0; i < samples->n_points; i++) {
        const struct memory_point *point = &samples->points[i];
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
    uint32_t remote = drawing->job->model.numa_nodes;
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

/* Draws the placements and what was measured there. */
static int plot(const struct memory_job *job, struct error *error)
{
    struct memory_drawing drawing = {
        .charts = {.common = true}, .job = job, .cores = job->model.cores > 0 ? job->model.cores : job->most_cores};
    struct memory_placement *sorted = xcalloc(job->n_placements, sizeof *sorted);
    for (size_t i = 0; i < job->n_placements; i++)
        sorted[i] = job->placements[i];
    qsort(sorted, job->n_placements, sizeof *sorted, compare_placements);
    for (size_t i = 0; i < job->n_placements; i++)
        draw_placement(&drawing, &sorted[i]);
    free(sorted);
    return charts_write(&drawing.charts, job->machine->name, job->machine->source, "nothing to draw: no placement",
                        job->options->plot, error);
}

static int print_memory_rows(FILE *stream, enum output_format format, const void *answer, struct error *error)
{
    if (format != FORMAT_TEXT)
        return memory_show_rows(stream, answer, format == FORMAT_CSV, error);
    memory_show_text(stream, answer);
    return 0;
}

static int print_mapes(FILE *stream, enum output_format format, const void *answer, struct error *error)
{
    const struct memory_job *job = answer;
    const char *name = job->machine->name;
    struct memory_mape mapes[MAPE_LINES];
    memory_mapes_compute(job, mapes);
    if (job->n_left_out > 0)
        inform("note: %zu medians of %s are of placements for which the table of '%s' lacks a side; they were left out",
               job->n_left_out, job->options->samples, name);
    if (format != FORMAT_TEXT)
        return memory_mapes_show_rows(stream, mapes, name, format == FORMAT_CSV, error);
    memory_mapes_show_text(stream, mapes, name);
    return 0;
}

static int answer(struct memory_job *job, const struct table_question *question, struct error *error)
{
    bool measured = job->options->samples != NULL;
    const char *picture = job->options->plot;
    if (memory_model_read(job->machine, &job->model, error) != 0 ||
        (measured ? choose_measured : choose_told)(job, error) != 0)
        return -1;
    if (job->model.cpu_copy)
        inform("note: the table of '%s' was measured with messages that a processor copied (cpu-copy): it applies only "
               "to messages within a node",
               job->machine->name);
    if (picture != NULL && plot(job, error) != 0)
        return -1;
    if (picture != NULL && strcmp(picture, "-") == 0)
        return 0;
    return table_print(question, measured ? print_mapes : print_memory_rows, job, error);
}

int memory_answer(const struct table_question *question, const struct machine *machine, struct error *error)
{
    struct memory_job job = {.options = &question->options->memory, .machine = machine};
    int result = answer(&job, question, error);
    free(job.placements);
    memory_samples_release(&job.samples);
    return result;
}

/* A prediction of memory contention takes a table alone, neither trace nor pattern; so it has a way of its own through
 * `mpistair predict`. The numbers say how much is lost; where it begins, and
 * whether the model has the shape of what was measured, shows a chart: after D Fig. 3, the message on the left axis and
 * computation on the right one, both from n = 0 cores on. Papers are named as in share/doc/MODELS.md. */
#include "predictor/memory/memory_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/plot/chart.h"
#include "predictor/memory/memory_mape.h"
#include "share/base/json.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"
#include "share/base/text_table.h"
#include "share/base/order.h"

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

static void text_numa(struct text_table *table, const struct memory_model *model, uint32_t numa)
{
    text_table_cell(table, "%u, %s", numa, numa >= model->numa_nodes ? "remote" : "local");
}

static void text_row(struct text_table *table, const struct memory_model *model, const struct memory_row *row)
{
    const double rates[] = {row->is.computation, row->is.computation_alone, row->is.message, row->is.message_alone};
    text_table_cell(table, "%u", row->cores);
    text_numa(table, model, row->at.computation_numa);
    text_numa(table, model, row->at.message_numa);
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        text_table_cell(table, "%.1f", rates[i] * 1e-6);
}

/* Prints text, in MB/s; name is that of the machine. */
static int memory_show_text(FILE *stream, const struct memory_model *model, const char *name,
                            const struct memory_choice *choice)
{
    static const char *const titles[] = {"cores", "computed on", "received in", "computation",
                                         "alone", "message",     "alone"};
    struct text_table *table = text_table_new();
    struct memory_row row;
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        text_table_column(table, titles[i], i == 1 || i == 2 ? TEXT_LEFT : TEXT_RIGHT);
    for (size_t i = 0; next(model, choice, &i, &row);)
        text_row(table, model, &row);
    fprintf(stream, "machine %s: memory bandwidth, MB/s, of cores and of a message\n", name);
    text_table_end(table, stream);
    return 0;
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
    enum output_format format;
    const char *output; /* NULL: standard output */
    struct machine machine;
    struct memory_model model;
    struct memory_samples samples; /* empty without --samples */
    struct memory_choice choice;
};

static int show_rows(FILE *stream, const struct memory_job *job, struct error *error)
{
    if (job->format == FORMAT_CSV || job->format == FORMAT_JSON)
        return memory_show_rows(stream, &job->model, &job->choice, job->format == FORMAT_CSV, error);
    return memory_show_text(stream, &job->model, job->machine.name, &job->choice);
}

static int show_mapes(FILE *stream, const struct memory_job *job, struct error *error)
{
    struct memory_mapes mapes;
    memory_mapes_compute(&job->model, &job->samples, &job->choice, &mapes);
    if (job->choice.n_left_out > 0)
        fprintf(
            stderr,
            "mpistair: note: %zu medians of %s are of placements for which the table of '%s' lacks a side; they were "
            "left out\n",
            job->choice.n_left_out, job->options->samples, job->machine.name);
    if (job->format == FORMAT_CSV || job->format == FORMAT_JSON)
        return memory_mapes_show_rows(stream, &mapes, job->machine.name, job->format == FORMAT_CSV, error);
    return memory_mapes_show_text(stream, &mapes, job->machine.name);
}

static int print_memory(const struct memory_job *job, struct error *error)
{
    bool measured = job->options->samples != NULL;
    struct output_file output;
    if (output_file_open(&output, job->output, error) != 0)
        return -1;
    if ((measured ? show_mapes : show_rows)(output.stream, job, error) == 0)
        return output_file_commit(&output, error);
    output_file_discard(&output);
    return -1;
}

static int choose(struct memory_job *job, struct error *error)
{
    const struct memory_options *options = job->options;
    const char *name = job->machine.name;
    if (options->samples == NULL)
        return memory_choice_make(&job->model, name, options, &job->choice, error);
    if (memory_samples_read_csv(options->samples, &job->samples, error) != 0)
        return -1;
    return memory_choice_measured(&job->model, name, options, options->samples, &job->samples, &job->choice, error);
}

static int answer(struct memory_job *job, struct error *error)
{
    const struct memory_options *options = job->options;
    const struct memory_samples *samples = options->samples != NULL ? &job->samples : NULL;
    if (memory_model_read(&job->machine, &job->model, error) != 0 || choose(job, error) != 0)
        return -1;
    if (job->model.cpu_copy)
        fprintf(stderr,
                "mpistair: note: the table of '%s' was measured with messages that a processor copied (cpu-copy): it "
                "applies only to messages within a node\n",
                job->machine.name);
    if (options->plot != NULL && plot(&job->machine, &job->model, &job->choice, samples, options->plot, error) != 0)
        return -1;
    return options->plot != NULL && strcmp(options->plot, "-") == 0 ? 0 : print_memory(job, error);
}

int memory_run(const struct memory_options *options, const char *machine_name, enum output_format format,
               const char *output, struct error *error)
{
    struct memory_job job = {.options = options, .format = format, .output = output};
    if (machine_find(machine_name, &job.machine, error) != 0)
        return -1;
    int result = answer(&job, error);
    memory_choice_release(&job.choice);
    memory_samples_release(&job.samples);
    machine_release(&job.machine);
    return result;
}

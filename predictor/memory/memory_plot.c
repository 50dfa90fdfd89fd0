/* The numbers say how much is lost; where it begins, and whether the model has the shape of what was measured, shows a
 * chart: after D Fig. 3, the message on the left axis and computation on the right one, both from n = 0 cores on.
 * Papers are named as in share/doc/MODELS.md. */
#include "predictor/memory/memory_plot.h"

#include <math.h>
#include <stdlib.h>

#include "calibrate/plot/chart.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

struct drawing {
    struct charts charts;
    const struct memory_model *model;
    const struct memory_samples *samples; /* NULL: none */
    uint32_t cores;
};

/* Begins a series of the message, on the left axis, or of computation. */
static void series_begin(struct drawing *drawing, bool message, bool alone, bool measured)
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

static void draw_model(struct drawing *drawing, const struct memory_placement *at, bool message, bool alone)
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
static void draw_measured(struct drawing *drawing, const struct memory_placement *at, enum memory_variant variant)
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

static void draw_placement(struct drawing *drawing, const struct memory_placement *at)
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
    int order = COMPARE(x->message_numa, y->message_numa);
    return order != 0 ? order : COMPARE(x->computation_numa, y->computation_numa);
}

int memory_plot(const struct machine *machine, const struct memory_model *model, const struct memory_choice *choice,
                const struct memory_samples *samples, const char *path, struct error *error)
{
    struct drawing drawing = {.charts = {.common = true},
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

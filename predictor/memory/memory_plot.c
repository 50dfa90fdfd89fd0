/* The numbers say how much is lost; where it begins, and whether the model has the shape of what was measured, shows a
 * picture: after D Fig. 3, the message on the left axis and computation on the right one, both from n = 0 cores on.
 * Columns of pictures are places of the data of computation, rows are places of the message. Papers are named as in
 * share/doc/MODELS.md. */
#include "predictor/memory/memory_plot.h"

#include <math.h>
#include <stdlib.h>

#include "calibrate/plot/plot_page.h"

struct drawing {
    struct picture picture;
    const struct memory_model *model;
    const struct memory_samples *samples; /* NULL: none */
    uint32_t cores;
    double most_message, most_computation; /* of all pictures, B/s */
};

static void raise_most(struct drawing *drawing, bool message, double bytes_per_s)
{
    double *most = message ? &drawing->most_message : &drawing->most_computation;
    *most = fmax(*most, bytes_per_s);
}

/* Finds what is largest of all pictures, so that these have the same axes. */
static void find_most(struct drawing *drawing, const struct memory_choice *choice)
{
    for (size_t i = 0; i < choice->n_placements; i++)
        for (uint32_t n = 0; n <= drawing->cores; n++) {
            struct memory_bandwidth b;
            memory_predict(drawing->model, n, choice->placements[i].computation_numa,
                           choice->placements[i].message_numa, &b);
            raise_most(drawing, true, b.message_alone);
            raise_most(drawing, false, fmax(b.computation, b.computation_alone));
        }
    for (size_t i = 0; drawing->samples != NULL && i < drawing->samples->n_points; i++) {
        const struct memory_point *point = &drawing->samples->points[i];
        raise_most(drawing, point->place.computing_numa == MEMORY_NO_DATA || point->place.variant == MEMORY_MESSAGE,
                   isnan(point->high) ? point->bytes_per_s : point->high);
    }
}

/* Draws a line of the model, of the message or of computation. */
static void draw_line(struct drawing *drawing, const struct memory_placement *at, bool message, bool alone)
{
    panel_block(&drawing->picture);
    for (uint32_t n = 0; n <= drawing->cores; n++) {
        struct memory_bandwidth b;
        memory_predict(drawing->model, n, at->computation_numa, at->message_numa, &b);
        double together = message ? b.message : b.computation,
               by_itself = message ? b.message_alone : b.computation_alone;
        panel_point(&drawing->picture, n, alone ? by_itself : together);
    }
    panel_block_end(&drawing->picture);
    panel_draw(&drawing->picture, "using 1:($2*1e-9) axes %s with lines dt %d lw %s lc rgb '%s' title '%s%s, model'",
               message ? "x1y1" : "x1y2", alone ? 2 : 1, alone ? "1" : "2", panel_color[message ? 0 : 1],
               message ? "message" : "computation", alone ? " alone" : "");
}

/* Draws the medians of a variant that were measured at the placement, with their intervals. */
static void draw_points(struct drawing *drawing, const struct memory_placement *at, enum memory_variant variant)
{
    bool message = variant == MEMORY_MESSAGE || variant == MEMORY_MESSAGE_ALONE;
    bool alone = variant == MEMORY_MESSAGE_ALONE || variant == MEMORY_COMPUTATION_ALONE;
    panel_block(&drawing->picture);
    for (size_t i = 0; drawing->samples != NULL && i < drawing->samples->n_points; i++) {
        const struct memory_point *point = &drawing->samples->points[i];
        const struct memory_place *place = &point->place;
        if (place->variant == variant &&
            (place->computing_numa == MEMORY_NO_DATA || place->computing_numa == at->computation_numa) &&
            (place->message_numa == MEMORY_NO_DATA || place->message_numa == at->message_numa))
            panel_interval(&drawing->picture, place->n, point->bytes_per_s, point->low, point->high);
    }
    panel_block_end(&drawing->picture);
    const char *on = message ? "x1y1" : "x1y2", *color = panel_color[message ? 0 : 1];
    panel_draw(&drawing->picture,
               "using 1:($3*1e-9):(0):(($4-$3)*1e-9) axes %s with vectors nohead lw 1 lc rgb '%s' notitle", on, color);
    panel_draw(&drawing->picture,
               "using 1:($2*1e-9) axes %s with points pt %d ps 0.6 lc rgb '%s' title '%s%s, measured'", on,
               alone ? 6 : 11, color, message ? "message" : "computation", alone ? " alone" : "");
}

static void axes(const struct drawing *drawing)
{
    FILE *panel = drawing->picture.panel;
    fputs("set lmargin at screen L\nset rmargin at screen R\nset tmargin at screen T\nset bmargin at screen B\n",
          panel);
    fputs("set key at graph 0.5, graph 0.99 center top Left reverse maxrows 4 samplen 2 font ',9'\n", panel);
    fprintf(panel, "set xrange [-0.5:%.9g]\nset yrange [0:%.9g]\nset y2range [0:%.9g]\n", drawing->cores + 0.5,
            drawing->most_message * 1.4e-9, drawing->most_computation * 1.4e-9);
    fputs("set format y '%g'\nset format y2 '%g'\nset y2tics nomirror\nset xlabel 'computing "
          "cores, n'\n",
          panel);
    fprintf(panel, "set ylabel 'message, GB/s' tc rgb '%s'\nset y2label 'computation, GB/s' tc rgb '%s'\n",
            panel_color[0], panel_color[1]);
    if (drawing->cores < 12)
        fputs("set xtics 1\n", panel);
}

static void draw_panel(struct drawing *drawing, const struct memory_placement *at)
{
    uint32_t remote = drawing->model->numa_nodes;
    bool sample = at->computation_numa == at->message_numa && (at->message_numa == 0 || at->message_numa == remote);
    char title[128];
    snprintf(title, sizeof title, "computation in NUMA node %u (%s), message in %u (%s)%s", at->computation_numa,
             at->computation_numa >= remote ? "remote" : "local", at->message_numa,
             at->message_numa >= remote ? "remote" : "local", sample ? ": made the table" : "");
    if (!panel_begin(&drawing->picture, title))
        return;
    axes(drawing);
    fprintf(drawing->picture.panel, "set border 11 lw %d lc rgb '#444444'\n", sample ? 2 : 1);
    panel_plot(&drawing->picture);
    for (int message = 1; message >= 0; message--)
        for (int alone = 0; alone < 2; alone++)
            draw_line(drawing, at, message == 1, alone == 1);
    draw_points(drawing, at, MEMORY_MESSAGE);
    draw_points(drawing, at, MEMORY_MESSAGE_ALONE);
    draw_points(drawing, at, MEMORY_COMPUTATION);
    draw_points(drawing, at, MEMORY_COMPUTATION_ALONE);
    panel_plot_end(&drawing->picture);
    panel_end(&drawing->picture);
}

/* Orders by the NUMA node of the message, then by that of computation: rows of the page. */
static int compare_rows(const void *a, const void *b)
{
    const struct memory_placement *x = a, *y = b;
    if (x->message_numa != y->message_numa)
        return x->message_numa < y->message_numa ? -1 : 1;
    return x->computation_numa == y->computation_numa ? 0 : x->computation_numa < y->computation_numa ? -1 : 1;
}

/* Counts the places of computation where the sorted placements are all pairs of some with some; else returns 0. */
static size_t columns_of(const struct memory_placement *sorted, size_t n)
{
    size_t columns = 1;
    while (columns < n && sorted[columns].message_numa == sorted[0].message_numa)
        columns++;
    for (size_t i = 0; i < n; i++)
        if (sorted[i].computation_numa != sorted[i % columns].computation_numa ||
            sorted[i].message_numa != sorted[i - i % columns].message_numa)
            return 0;
    return n % columns == 0 ? columns : 0;
}

int memory_plot(const struct machine *machine, const struct memory_model *model, const struct memory_choice *choice,
                const struct memory_samples *samples, const char *path, struct error *error)
{
    struct drawing drawing = {
        .model = model, .samples = samples, .cores = model->cores > 0 ? model->cores : choice->most_cores};
    if (choice->n_placements > PANEL_MAX)
        return error_set(error, "--plot: %zu placements, expected at most %d: choose with --comp-numa or --comm-numa",
                         choice->n_placements, PANEL_MAX);
    struct memory_placement sorted[PANEL_MAX];
    for (size_t i = 0; i < choice->n_placements; i++)
        sorted[i] = choice->placements[i];
    qsort(sorted, choice->n_placements, sizeof *sorted, compare_rows);
    drawing.picture =
        (struct picture){.machine = machine, .columns = columns_of(sorted, choice->n_placements), .right_axis = true};
    find_most(&drawing, choice);
    if (page_begin(&drawing.picture, error) != 0)
        return -1;
    for (size_t i = 0; i < choice->n_placements; i++)
        draw_panel(&drawing, &sorted[i]);
    return page_end(&drawing.picture, "nothing to draw: no placement", path, error);
}

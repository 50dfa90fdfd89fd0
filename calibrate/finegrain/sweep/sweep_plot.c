/* A line has the colour of its interface and the mark of its number of parts. Rows are sorted so that those of a
 * panel, and in it those of a line, are neighbours. */
#include "calibrate/finegrain/sweep/sweep_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/plot/gnuplot.h"
#include "calibrate/plot/plot_page.h"
#include "calibrate/finegrain/sweep/sweep_rows.h"

enum { KEY_COLUMNS = 3 };

static int compare_real(double a, double b)
{
    return (a > b) - (a < b);
}

static int compare_whole(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Compares the panels of two rows. */
static int compare_panels(const struct sweep_row *a, const struct sweep_row *b)
{
    const int orders[] = {strcmp(a->mpi, b->mpi),
                          compare_whole(a->ranks, b->ranks),
                          compare_whole(a->config.peers, b->config.peers),
                          compare_whole(a->config.threads, b->config.threads),
                          compare_real(a->config.compute_s, b->config.compute_s),
                          strcmp(a->arrivals, b->arrivals)};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        if (orders[i] != 0)
            return orders[i];
    return 0;
}

static int compare_lines(const struct sweep_row *a, const struct sweep_row *b)
{
    const int orders[] = {compare_panels(a, b), a->config.interface - b->config.interface,
                          a->config.rma - b->config.rma, compare_whole(a->config.parts, b->config.parts)};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        if (orders[i] != 0)
            return orders[i];
    return 0;
}

static int compare_rows(const void *left, const void *right)
{
    const struct sweep_row *a = left, *b = right;
    int order = compare_lines(a, b);
    order = order != 0 ? order : compare_whole(a->config.bytes, b->config.bytes);
    return order != 0 ? order : compare_whole(a->line, b->line);
}

struct drawing {
    struct picture picture;
    struct sweep_rows rows;
    uint64_t parts[PANEL_COLORS]; /* [n_parts] numbers of parts in ascending order; others have the mark of the last */
    size_t n_parts;
    double least_bytes, most_bytes, least_percent, most_percent; /* of all panels */
    size_t key_rows;                                             /* of the legend of the panel with most lines */
};

static void add_parts(struct drawing *drawing, uint64_t parts)
{
    size_t at = 0;
    while (at < drawing->n_parts && drawing->parts[at] < parts)
        at++;
    if (at == PANEL_COLORS || (at < drawing->n_parts && drawing->parts[at] == parts))
        return;
    drawing->n_parts += drawing->n_parts < PANEL_COLORS;
    memmove(&drawing->parts[at + 1], &drawing->parts[at], (drawing->n_parts - at - 1) * sizeof *drawing->parts);
    drawing->parts[at] = parts;
}

static size_t place_of_parts(const struct drawing *drawing, uint64_t parts)
{
    size_t at = 0;
    while (at + 1 < drawing->n_parts && drawing->parts[at] < parts)
        at++;
    return at;
}

/* Finds the axes, which all panels share. Returns false where no row has a speed-up. */
static bool find_axes(struct drawing *drawing)
{
    drawing->least_bytes = drawing->least_percent = INFINITY;
    drawing->most_bytes = drawing->most_percent = -INFINITY;
    for (size_t i = 0; i < drawing->rows.n; i++) {
        const struct sweep_row *row = &drawing->rows.rows[i];
        add_parts(drawing, row->config.parts);
        if (isnan(row->speedup_percent) || fabs(row->speedup_percent) > 1e30)
            continue;
        drawing->least_bytes = fmin(drawing->least_bytes, (double)row->config.bytes);
        drawing->most_bytes = fmax(drawing->most_bytes, (double)row->config.bytes);
        drawing->least_percent = fmin(drawing->least_percent, row->speedup_percent);
        drawing->most_percent = fmax(drawing->most_percent, row->speedup_percent);
    }
    return drawing->least_bytes <= drawing->most_bytes;
}

/* Returns the title of a row's panel as it stands between single quotes of gnuplot, for free(). */
static char *panel_title(const struct sweep_row *row)
{
    char *told = NULL, *quoted = NULL;
    size_t size = 0;
    if (asprintf(&told, "%llu peers, %s, %llu threads, %.4g ms, %s on %llu ranks",
                 (unsigned long long)row->config.peers, row->arrivals, (unsigned long long)row->config.threads,
                 1e3 * row->config.compute_s, row->mpi, (unsigned long long)row->ranks) < 0)
        return NULL;
    FILE *stream = open_memstream(&quoted, &size);
    if (stream != NULL) {
        gnuplot_string(stream, told, strlen(told));
        fclose(stream);
    }
    free(told);
    size_t length = quoted != NULL ? strlen(quoted) : 0;
    if (length < 2)
        return quoted;
    memmove(quoted, quoted + 1, length - 2);
    quoted[length - 2] = '\0';
    return quoted;
}

/* Draws the rows [first, end) of a line. */
static void draw_line(struct drawing *drawing, size_t first, size_t end)
{
    const struct finegrain_config *config = &drawing->rows.rows[first].config;
    bool rma = config->interface == FINEGRAIN_RMA;
    size_t place = place_of_parts(drawing, config->parts);
    int color = config->interface + (rma ? 4 * config->rma : 0) % PANEL_COLORS;
    panel_block(&drawing->picture);
    for (size_t i = first; i < end; i++)
        panel_point(&drawing->picture, (double)drawing->rows.rows[i].config.bytes,
                    drawing->rows.rows[i].speedup_percent);
    panel_block_end(&drawing->picture);
    panel_draw(&drawing->picture,
               "using 1:2 with linespoints pt %d ps 0.7 dt %zu lw 1.3 lc rgb '%s' title '%s%s%s (%llu)'",
               panel_mark[place], place % 5 + 1, panel_color[color], finegrain_interface_word[config->interface],
               rma ? " " : "", rma ? finegrain_rma_word[config->rma] : "", (unsigned long long)config->parts);
}

/* Marks the void rows among [first, end). */
static void mark_void(struct drawing *drawing, size_t first, size_t end)
{
    panel_block(&drawing->picture);
    for (size_t i = first; i < end; i++)
        if (drawing->rows.rows[i].is_void)
            panel_point(&drawing->picture, (double)drawing->rows.rows[i].config.bytes,
                        drawing->rows.rows[i].speedup_percent);
    panel_block_end(&drawing->picture);
    panel_draw(&drawing->picture, "using 1:2 with points pt 2 ps 1.3 lw 1.5 lc rgb '#888888' title 'void'");
}

static void draw_axes(struct drawing *drawing)
{
    FILE *panel = drawing->picture.panel;
    double above = fmin(0.04 * ((double)drawing->key_rows + 1), 0.6); /* share of the panel that the legend takes */
    double span = fmax(fmax(drawing->most_percent, 0) - fmin(drawing->least_percent, 0), 1);
    fputs("set lmargin at screen L\nset rmargin at screen R\nset tmargin at screen T\nset bmargin at screen B\n",
          panel);
    fprintf(panel, "set key top left Left reverse maxrows %zu samplen 2.5 font ',9'\n", drawing->key_rows);
    fputs("set xzeroaxis lw 1 lc rgb '#444444'\n", panel);
    panel_size_axis(&drawing->picture, drawing->least_bytes, drawing->most_bytes, true);
    fprintf(panel, "set yrange [%.9g:%.9g]\nset format y '%%g'\n", fmin(drawing->least_percent, 0) - 0.05 * span,
            fmax(drawing->most_percent, 0) + above / (1 - above) * span);
    fputs("set xlabel 'bytes of a buffer'\nset ylabel 'speed-up against BSP, %'\n", panel);
}

/* Draws the panel of the rows [first, end). */
static void draw_panel(struct drawing *drawing, size_t first, size_t end)
{
    char *title = panel_title(&drawing->rows.rows[first]);
    if (title == NULL || !panel_begin(&drawing->picture, title)) {
        drawing->picture.failed = true;
        free(title);
        return;
    }
    free(title);
    draw_axes(drawing);
    panel_plot(&drawing->picture);
    for (size_t line = first, next; line < end; line = next) {
        for (next = line + 1; next < end && compare_lines(&drawing->rows.rows[line], &drawing->rows.rows[next]) == 0;)
            next++;
        draw_line(drawing, line, next);
    }
    mark_void(drawing, first, end);
    panel_plot_end(&drawing->picture);
    panel_end(&drawing->picture);
}

static size_t panels_of(const struct sweep_rows *rows)
{
    size_t n = rows->n > 0;
    for (size_t i = 1; i < rows->n; i++)
        n += compare_panels(&rows->rows[i - 1], &rows->rows[i]) != 0;
    return n;
}

/* Returns the rows of a legend of KEY_COLUMNS columns for the panel with most lines. */
static size_t key_rows(const struct sweep_rows *rows)
{
    size_t n = 0, most = 0;
    for (size_t i = 0; i < rows->n; i++) {
        bool begins = i == 0 || compare_panels(&rows->rows[i - 1], &rows->rows[i]) != 0;
        n = begins ? 1 : n + (compare_lines(&rows->rows[i - 1], &rows->rows[i]) != 0);
        most = n > most ? n : most;
    }
    return (most + KEY_COLUMNS) / KEY_COLUMNS; /* with one more, for void rows */
}

static int draw(struct drawing *drawing, const char *rows_path, const char *path, struct error *error)
{
    struct sweep_rows *rows = &drawing->rows;
    char nothing[512];
    size_t n_panels;
    snprintf(nothing, sizeof nothing, "%.400s: no row of it has a speed-up: there is nothing to draw", rows_path);
    if (rows->n > 0)
        qsort(rows->rows, rows->n, sizeof *rows->rows, compare_rows);
    if (!find_axes(drawing))
        return error_set(error, "%s", nothing);
    if ((n_panels = panels_of(rows)) > PANEL_MAX)
        return error_set(
            error,
            "%s: its rows make %zu panels (MPI, ranks, peers, threads, compute time, arrivals); expected %d "
            "at most: draw fewer rows at once",
            rows_path, n_panels, PANEL_MAX);
    drawing->key_rows = key_rows(rows);
    if (page_begin(&drawing->picture, error) != 0)
        return -1;
    for (size_t first = 0, end; first < rows->n; first = end) {
        for (end = first + 1; end < rows->n && compare_panels(&rows->rows[first], &rows->rows[end]) == 0;)
            end++;
        draw_panel(drawing, first, end);
    }
    return page_end(&drawing->picture, nothing, path, error);
}

int sweep_plot(const char *rows_path, const char *path, struct error *error)
{
    struct drawing drawing = {.n_parts = 0};
    if (sweep_rows_read(rows_path, &drawing.rows, error) != 0)
        return -1;
    struct machine machine = {.name = "Parts sent early, against BSP"};
    snprintf(machine.source, sizeof machine.source, "%s", rows_path);
    drawing.picture.machine = &machine;
    int result = draw(&drawing, rows_path, path, error);
    sweep_rows_release(&drawing.rows);
    return result;
}

/* A line has the colour of its interface and the mark of its number of parts. Rows are sorted so that those of a
 * chart, and in it those of a line, are neighbours. */
#include "calibrate/finegrain/sweep/sweep_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/finegrain/sweep/sweep_rows.h"
#include "calibrate/plot/chart.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

static int first_of(const int *orders, size_t n)
{
    size_t i = 0;
    while (i + 1 < n && orders[i] == 0)
        i++;
    return orders[i];
}

/* Compares the charts of two rows. */
static int compare_charts(const struct sweep_row *a, const struct sweep_row *b)
{
    const int orders[] = {strcmp(a->mpi, b->mpi),
                          COMPARE(a->ranks, b->ranks),
                          COMPARE(a->config.peers, b->config.peers),
                          COMPARE(a->config.threads, b->config.threads),
                          COMPARE(a->config.compute_s, b->config.compute_s),
                          strcmp(a->arrivals, b->arrivals)};
    return first_of(orders, sizeof orders / sizeof orders[0]);
}

static int compare_rows(const void *left, const void *right)
{
    const struct sweep_row *a = left, *b = right;
    const int orders[] = {compare_charts(a, b),
                          COMPARE(a->config.interface, b->config.interface),
                          COMPARE(a->config.rma, b->config.rma),
                          COMPARE(a->config.parts, b->config.parts),
                          COMPARE(a->config.bytes, b->config.bytes),
                          COMPARE(a->line, b->line)};
    return first_of(orders, sizeof orders / sizeof orders[0]);
}

/* Returns the numbers of parts of all rows, each once and in ascending order, for free(). */
static uint64_t *parts_find(const struct sweep_rows *rows, size_t *n)
{
    uint64_t *parts = xcalloc(rows->n, sizeof *parts);
    for (size_t i = 0; i < rows->n; i++)
        parts[i] = rows->rows[i].config.parts;
    qsort(parts, rows->n, sizeof *parts, compare_u64);
    *n = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (i == 0 || parts[i] != parts[*n - 1])
            parts[(*n)++] = parts[i];
    return parts;
}

static void chart_begin(struct charts *charts, const struct sweep_row *row)
{
    struct chart_panel panel = {.caption = "A line an interface and number of parts.",
                                .x = {"bytes of a buffer", "B", true},
                                .y = {"speed-up against BSP, %", "%", false}};
    char *title = xasprintf(
        "%llu peers, %s, %llu threads, %.4g ms, %s on %llu ranks", (unsigned long long)row->config.peers, row->arrivals,
        (unsigned long long)row->config.threads, 1e3 * row->config.compute_s, row->mpi, (unsigned long long)row->ranks);
    panel.title = title;
    chart_panel(charts, &panel);
    free(title);
}

static void add_row(struct charts *charts, const struct sweep_row *row, int shape)
{
    bool rma = row->config.interface == FINEGRAIN_RMA;
    double bytes = (double)row->config.bytes;
    const struct chart_style style = {
        .colour = 1 + ((int)row->config.interface + (rma ? 4 * (int)row->config.rma : 0)) % CHART_COLOURS,
        .shape = shape,
        .points = true,
        .line = true};
    if (isnan(row->speedup_percent))
        return;
    chart_series(charts, &style, "%s%s%s (%llu)", finegrain_interface_word[row->config.interface], rma ? " " : "",
                 rma ? finegrain_rma_word[row->config.rma] : "", (unsigned long long)row->config.parts);
    chart_point(charts, bytes, row->speedup_percent);
    if (!row->is_void)
        return;
    chart_series(charts, &(struct chart_style){.colour = CHART_FAINT, .shape = 6, .points = true}, "void");
    chart_point(charts, bytes, row->speedup_percent);
}

int sweep_plot(const char *rows_path, const char *path, struct error *error)
{
    struct charts charts = {.common = true};
    struct sweep_rows rows;
    size_t n_parts;
    if (sweep_rows_read(rows_path, &rows, error) != 0)
        return -1;
    uint64_t *parts = parts_find(&rows, &n_parts);
    if (rows.n > 0)
        qsort(rows.rows, rows.n, sizeof *rows.rows, compare_rows);
    for (size_t i = 0; i < rows.n; i++) {
        int shape = 1;
        if (i == 0 || compare_charts(&rows.rows[i - 1], &rows.rows[i]) != 0)
            chart_begin(&charts, &rows.rows[i]);
        while (shape < CHART_SHAPES && parts[shape - 1] != rows.rows[i].config.parts)
            shape++;
        add_row(&charts, &rows.rows[i], shape);
    }
    char *nothing = xasprintf("%s: no row of it has a speed-up: there is nothing to draw", rows_path);
    int result = charts_write(&charts, "Parts sent early, against BSP", rows_path, nothing, path, error);
    free(nothing);
    free(parts);
    sweep_rows_release(&rows);
    return result;
}

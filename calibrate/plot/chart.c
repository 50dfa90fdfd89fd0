/* The tables of a chart are those that share/html/chart.vg.json reads: series, points with the number of their series,
 * thresholds. */
#include "calibrate/plot/chart.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"
#include "share/base/utf8.h"

enum { AXIS_X, AXIS_Y, AXIS_RIGHT };

static const char *const shapes[CHART_SHAPES] = {"circle",        "square", "triangle-up",   "diamond",
                                                 "triangle-down", "cross",  "triangle-right"};

static struct picture *data(struct charts *charts)
{
    return &charts->pictures[charts->n].data;
}

/* Writes the series, which come after their points. */
static void write_series(struct charts *charts)
{
    picture_table(data(charts), "series", "id name legend colour shape hollow size opacity line dash right");
    for (size_t i = 0; i < charts->n_series; i++) {
        const struct chart_style *style = &charts->series[i].style;
        int shape = style->shape > 0 ? style->shape - 1 : (style->colour - 1) % CHART_SHAPES;
        picture_row(data(charts), "itiitiidiii", (int64_t)i, charts->series[i].name,
                    (int64_t)(!style->quiet && !style->pale), (int64_t)(style->colour - 1),
                    style->points ? shapes[shape] : "stroke", (int64_t)style->hollow,
                    (int64_t)(!style->points ? 0
                              : style->pale  ? 7
                                             : 42),
                    style->pale ? 0.4 : 1.0, (int64_t)style->line, (int64_t)style->dashed, (int64_t)style->right);
    }
}

static void panel_end(struct charts *charts)
{
    bool is_drawn = charts->n_series > 0 && charts->n_series >= charts->panel.least_series &&
                    charts->spans[charts->n][AXIS_X].low <= charts->spans[charts->n][AXIS_X].high;
    if (is_drawn)
        write_series(charts);
    if (is_drawn && charts->n < CHARTS_MAX) {
        charts->n++;
    } else {
        picture_release(data(charts));
        charts->n_too_many += is_drawn;
    }
    free(charts->series);
    charts->series = NULL;
    charts->n_series = 0;
}

static void axis_value(struct charts *charts, const struct chart_axis *axis, const char *name)
{
    const char *type = axis->is_log ? "log" : "linear";
    picture_value(data(charts), name, json_pack("{ss ss ss}", "title", axis->title, "unit", axis->unit, "type", type));
}

void chart_panel(struct charts *charts, const struct chart_panel *panel)
{
    panel_end(charts);
    size_t n = charts->n;
    charts->panel = *panel;
    if (panel->right.title == NULL)
        charts->panel.right = (struct chart_axis){"", "", false};
    snprintf(charts->names[n], sizeof charts->names[n], "chart-%zu", n + 1);
    utf8_clean(charts->titles[n], panel->title, strnlen(panel->title, sizeof charts->titles[n] - 1));
    charts->pictures[n] = (struct page_picture){
        .name = charts->names[n], .drawing = "chart", .title = charts->titles[n], .caption = panel->caption};
    charts->spans[n][AXIS_X] = (struct chart_span){INFINITY, -INFINITY, charts->panel.x.is_log};
    charts->spans[n][AXIS_Y] = (struct chart_span){INFINITY, -INFINITY, charts->panel.y.is_log};
    charts->spans[n][AXIS_RIGHT] = (struct chart_span){INFINITY, -INFINITY, charts->panel.right.is_log};
    picture_init(data(charts));
    axis_value(charts, &charts->panel.x, "x");
    axis_value(charts, &charts->panel.y, "y");
    axis_value(charts, &charts->panel.right, "right");
    picture_value(data(charts), "base", json_finite(panel->base));
    picture_value(data(charts), "rows", charts->rows = json_array());
    picture_table(data(charts), "threshold", "x text");
    charts->thresholds = data(charts)->rows;
    picture_table(data(charts), "point", "series x y low high");
}

static bool same_kind(const struct chart_style *a, const struct chart_style *b)
{
    return a->points == b->points && a->hollow == b->hollow && a->pale == b->pale && a->line == b->line &&
           a->dashed == b->dashed && a->quiet == b->quiet && a->right == b->right;
}

void chart_series(struct charts *charts, const struct chart_style *style, const char *name, ...)
{
    struct chart_series series = {.style = *style};
    int last = 0;
    va_list arguments;
    va_start(arguments, name);
    vsnprintf(series.name, sizeof series.name, name, arguments);
    va_end(arguments);
    for (size_t i = 0; i < charts->n_series; i++) {
        const struct chart_series *other = &charts->series[i];
        bool named = strcmp(other->name, series.name) == 0;
        charts->current = i;
        if (named && same_kind(&other->style, style))
            return;
        if (named && series.style.colour == CHART_BY_NAME)
            series.style.colour = other->style.colour;
        if (other->style.colour <= CHART_COLOURS)
            last = other->style.colour;
    }
    if (series.style.colour == CHART_BY_NAME)
        series.style.colour = last % CHART_COLOURS + 1;
    array_grow(&charts->series, charts->n_series, sizeof *charts->series);
    charts->current = charts->n_series++;
    charts->series[charts->current] = series;
}

static bool has_place(const struct chart_axis *axis, double value)
{
    return axis->is_log ? value >= 1e-30 && value <= 1e30 : fabs(value) <= 1e30;
}

static void span_widen(struct chart_span *span, double value)
{
    span->low = fmin(span->low, value);
    span->high = fmax(span->high, value);
}

void chart_interval(struct charts *charts, double x, double y, double low, double high)
{
    bool right = charts->series[charts->current].style.right;
    const struct chart_axis *axis = right ? &charts->panel.right : &charts->panel.y;
    struct chart_span *spans = charts->spans[charts->n], *span = &spans[right ? AXIS_RIGHT : AXIS_Y];
    if (!has_place(&charts->panel.x, x) || !has_place(axis, y))
        return;
    low = has_place(axis, low) ? low : y;
    high = has_place(axis, high) ? high : y;
    span_widen(&spans[AXIS_X], x);
    span_widen(span, low);
    span_widen(span, high);
    bool is_interval = low < high;
    picture_row(data(charts), "idddd", (int64_t)charts->current, x, y, is_interval ? low : NAN,
                is_interval ? high : NAN);
}

void chart_point(struct charts *charts, double x, double y)
{
    chart_interval(charts, x, y, NAN, NAN);
}

void chart_gap(struct charts *charts)
{
    picture_row(data(charts), "idddd", (int64_t)charts->current, NAN, NAN, NAN, NAN);
}

void chart_threshold(struct charts *charts, double x, const char *text, ...)
{
    char told[64];
    va_list arguments;
    va_start(arguments, text);
    vsnprintf(told, sizeof told, text, arguments);
    va_end(arguments);
    json_add(charts->thresholds, json_pack("[fs]", x, told));
}

double chart_row(struct charts *charts, const char *name, ...)
{
    char told[64];
    va_list arguments;
    va_start(arguments, name);
    vsnprintf(told, sizeof told, name, arguments);
    va_end(arguments);
    json_add(charts->rows, json_string(told));
    return (double)json_size(charts->rows) - 1;
}

struct chart_span chart_x_span(const struct charts *charts)
{
    return charts->spans[charts->n][AXIS_X];
}

/* Sets the ends of the axes. Linear ones begin at 0; a single value gets room beside it. */
static void write_spans(struct charts *charts)
{
    static const char *const names[] = {"xDomain", "yDomain", "rightDomain"};
    for (size_t axis = AXIS_X; axis <= AXIS_RIGHT; axis++) {
        struct chart_span all = {INFINITY, -INFINITY, false};
        for (size_t i = 0; i < charts->n; i++) {
            span_widen(&all, charts->spans[i][axis].low);
            span_widen(&all, charts->spans[i][axis].high);
        }
        for (size_t i = 0; i < charts->n; i++) {
            bool is_log = charts->spans[i][axis].is_log;
            struct chart_span span = charts->common ? all : charts->spans[i][axis];
            if (!is_log)
                span_widen(&span, 0);
            if (!(span.low < span.high))
                span = (struct chart_span){is_log ? span.low / 2 : span.low, is_log ? span.high * 2 : span.high + 1,
                                           is_log};
            picture_value(&charts->pictures[i].data, names[axis], json_pack("[ff]", span.low, span.high));
        }
    }
}

static void write_source(FILE *stream, const void *source)
{
    fputs("<p>", stream);
    html_text(stream, source);
    fputs("</p>", stream);
}

static int page_write(const struct charts *charts, const char *title, const char *source, const char *path,
                      struct error *error)
{
    char *clean_title = xstrdup(title), *clean_source = xstrdup(source);
    const struct html_page page = {.title = clean_title,
                                   .pictures = charts->pictures,
                                   .n_pictures = charts->n,
                                   .write_summary = write_source,
                                   .context = clean_source};
    struct output_file file;
    utf8_clean(clean_title, title, strlen(title));
    utf8_clean(clean_source, source, strlen(source));
    int result = output_file_open(&file, path, error);
    if (result == 0)
        result = output_file_end(&file, html_page_write(file.stream, &page, error), error);
    free(clean_title);
    free(clean_source);
    return result;
}

int charts_write(struct charts *charts, const char *title, const char *source, const char *nothing, const char *path,
                 struct error *error)
{
    int result = -1;
    panel_end(charts);
    write_spans(charts);
    if (charts->n == 0)
        error_set(error, "%s", nothing);
    else if (charts->n_too_many > 0)
        error_set(error, "%s: %zu charts, expected at most %d: draw fewer at once", path,
                  charts->n + charts->n_too_many, CHARTS_MAX);
    else if (!html_page_draws())
        error_set(error, "this mpistair was built without Vega, which draws the charts: install it (package libjs-vega "
                         "of Debian and Ubuntu) and build again");
    else
        result = page_write(charts, title, source, path, error);
    for (size_t i = 0; i < charts->n; i++)
        picture_release(&charts->pictures[i].data);
    return result;
}

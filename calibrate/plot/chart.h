/* A page of charts: series of points over two axes, which Vega draws in the browser (share/base/html_page.h,
 * share/html/chart.vg.json).
 *
 * Begin with charts zeroed. chart_panel() begins a chart, chart_series() a series of it, which gets the points that
 * follow. A chart without points is left out. Then charts_write(), which releases all. */
#ifndef MPISTAIR_CALIBRATE_CHART_H
#define MPISTAIR_CALIBRATE_CHART_H

#include "share/base/html_page.h"

enum { CHARTS_MAX = 64 };

struct chart_axis {
    const char *title;
    const char *unit; /* behind the numbers of the axis, as "s"; "B" gives KiB, MiB, ... */
    bool is_log;
};

struct chart_panel {
    const char *title;   /* any text */
    const char *caption; /* what is seen, for those who see it and those who do not */
    struct chart_axis x, y;
    struct chart_axis right; /* a second y axis; title NULL: none */
    double base;             /* the value of y whose line in the grid is stronger; 0 but for factors */
    size_t least_series;     /* with fewer the chart is left out */
};

/* Colours that stay apart for colour-blind readers (Okabe and Ito); INK and FAINT are those of text. */
enum chart_colour {
    CHART_BY_NAME = 0, /* that of the series of the same name, or the next one */
    CHART_BLUE,
    CHART_RED,
    CHART_GREEN,
    CHART_PINK,
    CHART_ORANGE,
    CHART_SKY,
    CHART_YELLOW,
    CHART_INK,
    CHART_FAINT
};
enum { CHART_COLOURS = CHART_YELLOW, CHART_SHAPES = 7 };

struct chart_style {
    int colour;  /* enum chart_colour */
    int shape;   /* 1 to CHART_SHAPES; 0: that which belongs to the colour */
    bool points; /* a mark at each point, and its interval */
    bool hollow; /* these marks */
    bool pale;   /* small marks that others cover, out of the legend */
    bool line;   /* from point to point */
    bool dashed;
    bool quiet; /* out of the legend */
    bool right; /* by the axis on the right */
};

struct chart_series {
    char name[64];
    struct chart_style style;
};

struct chart_span {
    double low, high;
    bool is_log; /* the axis */
};

struct charts {
    bool common; /* all charts have the same span of each axis */
    /* The charts, and behind them the one that is being made. */
    struct page_picture pictures[CHARTS_MAX + 1];
    char names[CHARTS_MAX + 1][16], titles[CHARTS_MAX + 1][256];
    struct chart_span spans[CHARTS_MAX + 1][3]; /* of x, y, right */
    size_t n, n_too_many;
    struct chart_panel panel;
    struct json *rows, *thresholds;
    struct chart_series *series; /* [n_series] of the chart that is being made */
    size_t n_series, current;
};

void chart_panel(struct charts *charts, const struct chart_panel *panel);
/* Goes on with the series of that name and style, or begins it. */
void chart_series(struct charts *charts, const struct chart_style *style, const char *name, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a point. One that has no place on the axes is left out: not finite, beyond 1e30, or not above 0 on a logarithmic
 * axis. */
void chart_point(struct charts *charts, double x, double y);
/* Does the same with an interval of y; an end that is NaN is y. */
void chart_interval(struct charts *charts, double x, double y, double low, double high);
void chart_gap(struct charts *charts); /* the line breaks here */
/* Draws an upright line with a text. */
void chart_threshold(struct charts *charts, double x, const char *text, ...) __attribute__((format(printf, 3, 4)));
/* Adds a row of that name and returns its y; charts with rows have names, and no numbers, on the y axis. */
double chart_row(struct charts *charts, const char *name, ...) __attribute__((format(printf, 2, 3)));
/* Returns the span of x of the chart so far; low > high without points. */
struct chart_span chart_x_span(const struct charts *charts);

/* Writes the page to a file, `-` for standard output, and releases the charts. source: text below the title. An older
 * file is replaced only when the page is complete. Returns 0, or -1 with the reason: no chart, reported in the words of
 * `nothing`; more than CHARTS_MAX; no Vega; not writable. */
int charts_write(struct charts *charts, const char *title, const char *source, const char *nothing, const char *path,
                 struct error *error);

#endif

/* Draws the time of a message over its size at one level: samples, their median for each size, and the table's lines
 * tau + s n/BW(n) of each protocol; below, by how much the medians are off these lines. Without samples there are only
 * the lines. */
#include <math.h>
#include <string.h>

#include "calibrate/plot/panel.h"

/* Holds what the table says about one level. */
struct level_table {
    struct machine_protocols protocols; /* n = 0: nothing */
    double tau_s[PROTOCOL_COUNT];       /* by index in protocols */
    struct machine_bandwidth bandwidth[PROTOCOL_COUNT];
};

/* Describes one n on the panel. */
struct curve_shown {
    uint64_t n;
    const struct curve *curve; /* NULL: only the table's line */
};

static void table_release(struct level_table *table)
{
    for (size_t i = 0; i < table->protocols.n; i++)
        machine_bandwidth_release(&table->bandwidth[i]);
    table->protocols.n = 0;
}

static void table_make(const struct machine *machine, enum level level, struct level_table *table)
{
    *table = (struct level_table){0};
    struct machine_protocols found;
    if (machine_protocols(machine, level, &found, NULL) != 0)
        return;
    for (size_t i = 0; i < found.n; i++) { /* a protocol without latency or bandwidth has no line */
        size_t at = table->protocols.n;
        if (machine_tau_s(machine, level, found.protocol[i], &table->tau_s[at], NULL) != 0 ||
            machine_bandwidth(machine, level, found.protocol[i], &table->bandwidth[at], NULL) != 0)
            continue;
        table->protocols.protocol[at] = found.protocol[i];
        table->protocols.from_bytes[at] = found.from_bytes[i];
        table->protocols.n++;
    }
}

/* Returns the table's time with the line of protocol i. */
static double line_s(const struct level_table *table, size_t i, uint64_t n, double bytes)
{
    bool extrapolated = false;
    return table->tau_s[i] + bytes * (double)n / machine_bandwidth_at(&table->bandwidth[i], (double)n, &extrapolated);
}

static size_t protocol_index(const struct level_table *table, double bytes)
{
    size_t i = table->protocols.n - 1;
    while (i > 0 && bytes < (double)table->protocols.from_bytes[i])
        i--;
    return i;
}

/* Returns the index of the i-th of n_shown things that are spread over n_all, the first and the last among them. */
static size_t spread(size_t i, size_t n_shown, size_t n_all)
{
    return n_shown < 2 ? 0 : i * (n_all - 1) / (n_shown - 1);
}

static size_t curves_choose(const struct picture *picture, enum level level, const struct level_table *table,
                            struct curve_shown shown[PANEL_CURVES_MAX])
{
    const struct curves *curves = picture->curves;
    size_t first = 0, n = 0;
    for (size_t i = 0; i < curves->n_curves; i++)
        if (curves->curves[i].level == level && n++ == 0)
            first = i;
    const struct machine_bandwidth *knots =
        n == 0 && table->protocols.n > 0 ? &table->bandwidth[table->protocols.n - 1] : NULL;
    if (knots != NULL)
        n = knots->n_knots;
    size_t n_shown = n < PANEL_CURVES_MAX ? n : PANEL_CURVES_MAX;
    for (size_t i = 0; i < n_shown; i++) {
        size_t at = spread(i, n_shown, n);
        shown[i].curve = knots == NULL ? &curves->curves[first + at] : NULL;
        shown[i].n = knots == NULL ? shown[i].curve->n : (uint64_t)knots->n[at];
    }
    return n_shown;
}

/* Finds the sizes that the panel spans. */
static void sizes(const struct curve_shown *shown, size_t n_shown, double *least_bytes, double *most_bytes)
{
    *least_bytes = INFINITY;
    *most_bytes = 0;
    for (size_t i = 0; i < n_shown; i++)
        for (size_t point = 0; shown[i].curve != NULL && point < shown[i].curve->n_points; point++) {
            double bytes = shown[i].curve->bytes[point];
            if (bytes > 0)
                *least_bytes = fmin(*least_bytes, bytes);
            *most_bytes = fmax(*most_bytes, bytes);
        }
    if (!(*most_bytes > 0)) {
        *least_bytes = 1;
        *most_bytes = 4 << 20;
    }
}

static const char *curve_title(const struct curve_shown *shown, char title[64])
{
    const char *suffix = shown->curve == NULL || shown->n > 1            ? ""
                         : shown->curve->benchmark == BENCHMARK_PINGPONG ? ", ping-pong"
                         : shown->curve->benchmark == BENCHMARK_SELF     ? ", to itself"
                                                                         : ", Algorithm 1";
    snprintf(title, 64, "n = %llu%s", (unsigned long long)shown->n, suffix);
    return title;
}

static void draw_samples(struct picture *picture, const struct curve *curve, int color)
{
    struct group group = {0};
    panel_block(picture);
    while (group_next(picture->samples, curve->benchmark, &group)) {
        const struct sample *sample = &picture->samples->samples[group.first];
        if (sample->level == curve->level && sample->n == curve->n && sample->bytes > 0)
            group_draw(picture, &group, (double)sample->bytes);
    }
    panel_block_end(picture);
    panel_draw(picture, "with points pt 7 ps 0.3 lc rgb '#98%s' notitle", panel_color[color] + 1);
}

static void draw_medians(struct picture *picture, const struct curve_shown *shown, int color)
{
    const struct curve *curve = shown->curve;
    char title[64];
    panel_block(picture);
    for (size_t i = 0; i < curve->n_points; i++)
        if (curve->bytes[i] > 0)
            panel_point(picture, curve->bytes[i], curve->seconds[i]);
    panel_block_end(picture);
    panel_draw(picture, "with points pt %d ps 0.6 lc rgb '%s' title '%s'", panel_mark[color], panel_color[color],
               curve_title(shown, title));
}

static void draw_line(struct picture *picture, const struct level_table *table, const struct curve_shown *shown,
                      double least_bytes, double most_bytes, int color)
{
    enum { STEPS = 24 };
    char title[64];
    panel_block(picture);
    for (size_t i = 0; i < table->protocols.n; i++) {
        double from = i == 0 ? least_bytes : (double)table->protocols.from_bytes[i];
        double to = i + 1 < table->protocols.n ? (double)table->protocols.from_bytes[i + 1] : most_bytes;
        from = fmax(from, least_bytes);
        to = fmin(to, most_bytes);
        for (int step = 0; step <= STEPS && from < to; step++) {
            double bytes = from * pow(to / from, step / (double)STEPS);
            panel_point(picture, bytes, line_s(table, i, shown->n, bytes));
        }
        panel_gap(picture); /* between protocols */
    }
    panel_block_end(picture);
    bool titled = shown->curve == NULL;
    panel_draw(picture, "with lines lw 1.2 lc rgb '%s' %s%s%s", panel_color[color], titled ? "title '" : "notitle",
               titled ? curve_title(shown, title) : "", titled ? "'" : "");
}

/* Returns the median of a size divided by the line of its protocol. */
static double residual(const struct level_table *table, const struct curve *curve, size_t point)
{
    double bytes = curve->bytes[point];
    return curve->seconds[point] / line_s(table, protocol_index(table, bytes), curve->n, bytes);
}

static void draw_residuals(struct picture *picture, const struct level_table *table, const struct curve *curve,
                           int color)
{
    panel_block(picture);
    for (size_t i = 0; i < curve->n_points; i++)
        if (curve->bytes[i] > 0)
            panel_point(picture, curve->bytes[i], residual(table, curve, i));
    panel_block_end(picture);
    panel_draw(picture, "using 1:(OFF($2)) with linespoints pt %d ps 0.45 lw 0.7 lc rgb '%s' notitle",
               panel_mark[color], panel_color[color]);
}

/* Makes the axis of the residuals: percent, with about four tick marks; the factor itself on a logarithmic axis where
 * medians are off by factors. */
static void residual_axis(struct picture *picture, const struct level_table *table, const struct curve_shown *shown,
                          size_t n_shown)
{
    double least = 1, most = 1;
    for (size_t i = 0; i < n_shown; i++)
        for (size_t point = 0; point < shown[i].curve->n_points; point++) {
            double factor = residual(table, shown[i].curve, point);
            least = fmin(least, factor);
            most = fmax(most, factor);
        }
    if (most > 4 || least < 0.1) {
        fputs("set logscale y\nset format y '%g'\nset ylabel 'median / line'\nset ytics autofreq\n"
              "OFF(factor) = factor\n",
              picture->panel);
        return;
    }
    double span = fmax(100 * (most - least), 1), decade = pow(10, floor(log10(span / 4)));
    double digits = span / 4 / decade;
    fprintf(picture->panel,
            "set format y '%%+g %%%%'\nset ylabel 'median / line - 1'\nset ytics %.9g\nset yrange [%.9g:%.9g]\n"
            "OFF(factor) = 100*(factor - 1)\n",
            decade * (digits > 5   ? 10
                      : digits > 2 ? 5
                      : digits > 1 ? 2
                                   : 1),
            fmin(100 * (least - 1) - span / 8, -0.6), fmax(100 * (most - 1) + span / 8, 0.6));
}

static void draw_thresholds(struct picture *picture, const struct level_table *table, bool named)
{
    for (size_t i = 1; i < table->protocols.n; i++) {
        unsigned long long bytes = table->protocols.from_bytes[i];
        fprintf(picture->panel, "set arrow from %llu, graph 0 to %llu, graph 1 nohead dt 2 lc rgb '#888888'\n", bytes,
                bytes);
        if (named)
            fprintf(picture->panel,
                    "set label '%s from %llu B' at %llu, graph %.2f offset 0.4,0 font ',9' tc rgb '#555555'\n",
                    machine_protocol_name[table->protocols.protocol[i]], bytes, bytes, 0.1 - 0.055 * (double)(i % 2));
    }
}

static void draw(struct picture *picture, const struct level_table *table, const struct curve_shown *shown,
                 size_t n_shown)
{
    double least_bytes, most_bytes;
    bool residuals = table->protocols.n > 0 && shown[0].curve != NULL;
    sizes(shown, n_shown, &least_bytes, &most_bytes);
    FILE *panel = picture->panel;
    fprintf(panel, "set lmargin at screen L\nset rmargin at screen R\nset tmargin at screen T\n");
    fprintf(panel, "set bmargin at screen B%s\n", residuals ? " + 0.32*(T-B)" : "");
    fputs("set key top left Left reverse samplen 1.5\n", panel);
    fputs("set logscale y\nset format y '%.0s %cs'\nset ylabel 'time of a message'\n", panel);
    panel_size_axis(picture, least_bytes, most_bytes, !residuals);
    if (!residuals)
        fputs("set xlabel 'size of a message'\n", panel);
    draw_thresholds(picture, table, true);
    panel_plot(picture);
    for (size_t i = 0; i < n_shown; i++)
        if (shown[i].curve != NULL)
            draw_samples(picture, shown[i].curve, (int)i);
    for (size_t i = 0; i < n_shown; i++) {
        if (table->protocols.n > 0)
            draw_line(picture, table, &shown[i], least_bytes, most_bytes, (int)i);
        if (shown[i].curve != NULL)
            draw_medians(picture, &shown[i], (int)i);
    }
    panel_plot_end(picture);
    if (!residuals)
        return;
    fputs("unset title\nunset label\nunset arrow\nunset logscale y\nset tmargin at screen B + 0.28*(T-B)\n"
          "set bmargin at screen B\n"
          "set xlabel 'size of a message'\n",
          panel);
    residual_axis(picture, table, shown, n_shown);
    panel_size_axis(picture, least_bytes, most_bytes, true);
    draw_thresholds(picture, table, false);
    panel_plot(picture);
    panel_element(picture, "OFF(1) with lines lc rgb '#888888' notitle");
    for (size_t i = 0; i < n_shown; i++)
        draw_residuals(picture, table, shown[i].curve, (int)i);
    panel_plot_end(picture);
}

void panel_times(struct picture *picture, enum level level)
{
    struct level_table table;
    struct curve_shown shown[PANEL_CURVES_MAX];
    char title[96];
    table_make(picture->machine, level, &table);
    size_t n_shown = curves_choose(picture, level, &table, shown);
    snprintf(title, sizeof title, "%s: time over size%s", level_text(level),
             level == LEVEL_SELF ? "" : ", n processes at once");
    if (n_shown > 0 && panel_begin(picture, title)) {
        draw(picture, &table, shown, n_shown);
        panel_end(picture);
    }
    table_release(&table);
}

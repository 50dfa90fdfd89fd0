/* Draws the bandwidth of n processes at one level, as measured, against the max-rate model's formula n BW(1), at most
 * BW_max, after T Fig. 1 (eq. 3); and what a node sends to other nodes (B eq. 2). Papers are named as in
 * share/doc/MODELS.md. */
#include <math.h>
#include <string.h>

#include "calibrate/plot/panel.h"

static bool is_lower_bound(const struct machine_parameter *row)
{
    return strstr(row->method, "-flat") != NULL || strcmp(row->method, "lower-bound") == 0;
}

static bool is_bandwidth(const struct machine_parameter *row, enum level level, enum machine_protocol protocol)
{
    return row->level == level && row->protocol == protocol && strcmp(row->quantity, "bw") == 0;
}

/* Draws the points that are a lower bound, or those that are not. */
static void draw_knots(struct picture *picture, enum level level, enum machine_protocol protocol, bool bound)
{
    const struct machine *machine = picture->machine;
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        if (is_bandwidth(row, level, protocol) && is_lower_bound(row) == bound)
            panel_interval(picture, (double)row->n, row->value, row->ci_low, row->ci_high);
    }
}

static void draw_protocol(struct picture *picture, enum level level, enum machine_protocol protocol,
                          const struct machine_bandwidth *knots, int color)
{
    const char *name = machine_protocol_name[protocol];
    size_t last = knots->n_knots - 1;
    double most = knots->bytes_per_s[last], single = knots->bytes_per_s[0];
    panel_block(picture);
    for (size_t i = 0; i < knots->n_knots; i++)
        panel_point(picture, knots->n[i], knots->bytes_per_s[i]);
    panel_block_end(picture);
    panel_draw(picture, "using 1:($2/S) with lines lw 1.5 lc rgb '%s' notitle", panel_color[color]);
    for (int bound = 0; bound < 2; bound++) {
        panel_block(picture);
        draw_knots(picture, level, protocol, bound == 1);
        panel_block_end(picture);
        panel_draw(picture,
                   "using 1:($2/S):($3/S):($4/S) with yerrorbars pt %d ps 0.7 lw 1.2 lc rgb '%s' title '%s, %s'",
                   bound == 1 ? 8 : panel_mark[color], panel_color[color], name, bound == 1 ? "at least" : "measured");
    }
    if (knots->n[0] > 1) /* without a single message the formula lacks BW(1) */
        return;
    double corner = fmin(fmax(most / single, 1), knots->n[last]);
    panel_block(picture);
    panel_point(picture, 1, fmin(single, most));
    panel_point(picture, corner, fmin(corner * single, most));
    panel_point(picture, knots->n[last], fmin(knots->n[last] * single, most));
    panel_block_end(picture);
    panel_draw(picture, "using 1:($2/S) with lines dt 2 lw 1.2 lc rgb '%s' title '%s, max-rate'", panel_color[color],
               name);
}

/* Makes room above for the key, and chooses a unit in which the rates are numbers of one to three digits. */
static void axes(struct picture *picture, double most_n, double most_rate, const char *what)
{
    static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
    FILE *panel = picture->panel;
    size_t unit = 0;
    double scale = 1;
    for (; unit + 1 < sizeof units / sizeof units[0] && most_rate >= 1000 * scale; unit++)
        scale *= 1000;
    fputs("set lmargin at screen L\nset rmargin at screen R\nset tmargin at screen T\nset bmargin at screen B\n",
          panel);
    fprintf(panel, "S = %.9g\nset key top left Left reverse horizontal maxrows 2 samplen 2 opaque\n", scale);
    fprintf(panel, "set xrange [0:%.9g]\nset yrange [0:%.9g]\n", most_n * 1.05, most_rate / scale * 1.25);
    fprintf(panel, "set format y '%%g'\nset xlabel 'processes at once, n'\nset ylabel '%s, %s'\n", what, units[unit]);
    if (most_n < 12)
        fputs("set xtics 1\n", panel);
}

void panel_bandwidth(struct picture *picture, enum level level)
{
    struct machine_bandwidth knots[PROTOCOL_COUNT] = {{0}};
    double most_n = 0, most_rate = 0;
    char title[96];
    for (int p = PROTOCOL_ANY; p < PROTOCOL_COUNT; p++) {
        /* The time of short messages is latency. */
        if (p == PROTOCOL_SHORT ||
            machine_bandwidth(picture->machine, level, (enum machine_protocol)p, &knots[p], NULL) != 0)
            continue;
        size_t n = knots[p].n_knots;
        for (size_t i = 0; n > 1 && i < n; i++) {
            most_n = fmax(most_n, knots[p].n[i]);
            most_rate = fmax(most_rate, knots[p].bytes_per_s[i]);
        }
    }
    snprintf(title, sizeof title, "%s: bandwidth of n processes, BW(n)", level_text(level));
    if (most_n > 0 && panel_begin(picture, title)) {
        axes(picture, most_n, most_rate, "all processes together");
        panel_plot(picture);
        int color = 0;
        for (int p = PROTOCOL_COUNT - 1; p >= PROTOCOL_ANY; p--)
            if (knots[p].n_knots > 1)
                draw_protocol(picture, level, (enum machine_protocol)p, &knots[p], color++);
        panel_plot_end(picture);
        panel_end(picture);
    }
    for (int p = PROTOCOL_ANY; p < PROTOCOL_COUNT; p++)
        machine_bandwidth_release(&knots[p]);
}

/* Finds the sizes of the injection samples, largest first, at most PANEL_CURVES_MAX, and the ranges of the panel. */
static size_t injection_sizes(const struct picture *picture, uint64_t size_bytes[PANEL_CURVES_MAX], double *most_n,
                              double *most_rate)
{
    struct group group = {0};
    size_t n_sizes = 0;
    while (group_next(picture->samples, BENCHMARK_INJECTION, &group)) {
        const struct sample *sample = &picture->samples->samples[group.first];
        *most_n = fmax(*most_n, (double)sample->n);
        *most_rate =
            fmax(*most_rate, (double)sample->n * (double)sample->bytes / group_median(picture->samples, &group));
        size_t at = 0;
        while (at < n_sizes && size_bytes[at] > sample->bytes)
            at++;
        if (at == PANEL_CURVES_MAX || (at < n_sizes && size_bytes[at] == sample->bytes))
            continue;
        n_sizes += n_sizes < PANEL_CURVES_MAX;
        memmove(&size_bytes[at + 1], &size_bytes[at], (n_sizes - at - 1) * sizeof *size_bytes);
        size_bytes[at] = sample->bytes;
    }
    return n_sizes;
}

static void draw_injection(struct picture *picture, uint64_t bytes, int color)
{
    struct group group = {0};
    panel_block(picture);
    while (group_next(picture->samples, BENCHMARK_INJECTION, &group)) {
        const struct sample *sample = &picture->samples->samples[group.first];
        if (sample->bytes == bytes)
            panel_point(picture, (double)sample->n,
                        (double)sample->n * (double)bytes / group_median(picture->samples, &group));
    }
    panel_block_end(picture);
    panel_draw(picture, "using 1:($2/S) with linespoints pt %d ps 0.6 lc rgb '%s' title '%.6g KiB'", panel_mark[color],
               panel_color[color], (double)bytes / 1024);
}

void panel_injection(struct picture *picture)
{
    const struct machine_parameter *limit = panel_row(picture->machine, LEVEL_INTER_NODE, "injection");
    uint64_t size_bytes[PANEL_CURVES_MAX];
    double most_n = 1, most_rate = limit != NULL ? limit->value : 0;
    size_t n_sizes = injection_sizes(picture, size_bytes, &most_n, &most_rate);
    if (n_sizes == 0 || !(most_rate > 0) ||
        !panel_begin(picture, "inter_node: rate at which a node sends, n processes"))
        return;
    axes(picture, most_n, most_rate, "all processes of the node");
    panel_plot(picture);
    for (size_t i = 0; i < n_sizes; i++)
        draw_injection(picture, size_bytes[i], (int)i);
    if (limit != NULL)
        panel_element(picture, "%.9g/S with lines dt 2 lw 1.5 lc rgb '#000000' title 'limit in the table'",
                      limit->value);
    panel_plot_end(picture);
    panel_end(picture);
}
